// Run once with node: node --experimental-wasm-jspi capture.mjs
// Starts Python as the Worker will, in a folder with Pyodide's files, and leaves there what makes the start possible
// and quick: every small WebAssembly module that Pyodide compiles on the way, with adaptors.mjs, which finds them
// again by their bytes (workerd forbids compiling); and the standard library with its modules compiled.
import { readFileSync, writeFileSync } from "node:fs";
import { startPython } from "./python.mjs";

const here = (name) => new URL(name, import.meta.url);
const seen = new Map();

const pyodide = await startPython({
  wasm: new WebAssembly.Module(readFileSync(here("pyodide.asm.wasm"))),
  stdlib: readFileSync(here("python_stdlib.zip")),
  newWasmModule(bytes) {
    seen.set(Buffer.from(bytes).toString("base64"), bytes);
    return new WebAssembly.Module(bytes);
  },
  onFatal: (error) => {
    throw error;
  },
});
// What is compiled at first use only: stack switching.
await pyodide.runPythonAsync("import asyncio; from pyodide.ffi import run_sync; run_sync(asyncio.sleep(0))");

const modules = [...seen].map(([key, bytes], index) => ({ key, bytes, name: `adaptor${index}` }));
for (const { bytes, name } of modules) writeFileSync(here(`${name}.wasm`), bytes);
writeFileSync(
  here("adaptors.mjs"),
  [
    ...modules.map(({ name }) => `import ${name} from "./${name}.wasm";`),
    `export const adaptors = new Map([`,
    ...modules.map(({ key, name }) => `  ["${key}", ${name}],`),
    `]);`,
    "",
  ].join("\n"),
);

// Pyodide ships sources alone; compiling what a start imports would take over a second each time.
pyodide.runPython(`
import importlib.util, sys, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

path = next(path for path in sys.path if path.endswith(".zip"))
with zipfile.ZipFile(path) as old, zipfile.ZipFile("/compiled.zip", "w") as new:
    for item in old.infolist():
        source = old.read(item)
        new.writestr(item, source)
        if item.filename.endswith(".py"):
            code = compile(source, f"{path}/{item.filename}", "exec", dont_inherit=True)
            new.writestr(f"{item.filename}c", _code_to_hash_pyc(code, importlib.util.source_hash(source), False))
`);
writeFileSync(here("python_stdlib.zip"), pyodide._module.FS.readFile("/compiled.zip"));
process.exit(0);
