// What a Python Worker's classes look like to workerd: JavaScript classes that hand each call to Python. Follows
// Cloudflare's entry point (workerd, pyodide:python-entrypoint-helper) in argument lists, conversions and errors.
// One difference: there Python starts with the isolate; here with the first event, for want of a memory snapshot.
import * as cloudflareWorkers from "cloudflare:workers";
import * as cloudflareSockets from "cloudflare:sockets";
import wasm from "./pyodide.asm.wasm";
import stdlib from "./python_stdlib.zip";
import files from "./files.bin";
import { adaptors } from "./adaptors.mjs";
import { startPython } from "./python.mjs";
import { mountFiles } from "./files.mjs";

const { DurableObject, WorkerEntrypoint } = cloudflareWorkers;

function newWasmModule(bytes) {
  const module = adaptors.get(btoa(String.fromCharCode(...bytes)));
  if (!module) throw new Error("Python needs a WebAssembly adaptor that capture.mjs did not see");
  return module;
}

// waitUntil of Python's futures: the context outlives the call, so it needs a proxy of its own.
function patchedWaitUntil(context) {
  const waitUntil = context.waitUntil.bind(context);
  return (promise) => {
    waitUntil(
      (async () => {
        const own = "copy" in promise ? promise.copy() : promise;
        try {
          await own;
        } finally {
          if ("destroy" in own) own.destroy();
        }
      })(),
    );
  };
}

const patched = new WeakSet();
function patchWaitUntil(context) {
  let tag;
  try {
    tag = Object.prototype.toString.call(context);
  } catch {
    return; // a Python object's proxy may refuse
  }
  if (tag !== "[object ExecutionContext]" || patched.has(context)) return;
  context.waitUntil = patchedWaitUntil(context);
  patched.add(context);
}

const waitUntil = patchedWaitUntil(cloudflareWorkers);
const cloudflareWorkersModule = new Proxy(cloudflareWorkers, {
  get: (target, name) => (name === "waitUntil" ? waitUntil : Reflect.get(target, name)),
});

async function start() {
  const pyodide = await startPython({
    wasm,
    stdlib,
    newWasmModule,
    onFatal: (error) => cloudflareWorkers.abortIsolate(`Python worker fatal error: ${error}`),
  });
  pyodide.registerJsModule("_pyodide_entrypoint_helper", {
    doAnImport: (name) => import(name),
    cloudflareWorkersModule,
    cloudflareSocketsModule: cloudflareSockets,
    workerEntrypoint: WorkerEntrypoint,
    patchWaitUntil,
  });
  // Those of the compatibility date that the SDK asks for.
  pyodide.registerJsModule("_cloudflare_compat_flags", {
    python_request_headers_preserve_commas: true,
    python_workflows_implicit_dependencies: true,
  });
  const mainName = mountFiles(pyodide._module.FS, files, "/session/metadata");
  pyodide.runPython(`
import sys
modules = "/session/metadata/python_modules"
sys.path += ["/session/metadata", "/session" + "${pyodide._module.FS.sitePackages}"]
sys.path.insert(next(i for i, path in enumerate(sys.path) if "site-packages" in path), modules)
`, { globals: pyodide.toPy({}) });
  const main = await pyodide._module.API.pyodide_base.pyimport_impl.callPromising(mainName);
  const call = pyodide.runPython(`
from inspect import isawaitable
from pyodide.code import relaxed_call
from workers import python_from_rpc, python_to_rpc

async def call(relaxed, instance, name, *args):
    method = getattr(instance, name)
    args = [python_from_rpc(arg) for arg in args]
    result = relaxed_call(method, *args) if relaxed else method(*args)
    return python_to_rpc(await result if isawaitable(result) else result)

call
`, { globals: pyodide.toPy({}), filename: "<host>" });
  return { main, call };
}

let starting;
function python(context) {
  starting ??= start().catch((error) => {
    throw new Error(`Python did not start: ${error.message}`, { cause: error }); // server.py looks for these words
  });
  // The client that made the first request may go away; the start goes on, for the others.
  context.waitUntil(starting.catch(() => {}));
  return starting;
}

// "promising": Python may switch stacks (run_sync) in the call. "relaxed": it takes the parameters it declares.
const callPython = (callable, relaxed, args) => callable.callWithOptions({ relaxed, promising: true }, ...args);

async function construct(className, args) {
  const { main } = await python(args[0]);
  if (typeof main[className] !== "function") {
    throw new TypeError(`There is no '${className}' class defined in the Python Worker's main module`);
  }
  return await callPython(main[className], false, args);
}

/**
 * @param handlers  events that workerd asks a class for at start, before Python can be asked
 * @param raw       of these, the ones whose arguments Python gets as they are
 */
function entrypointClass(className, base, handlers, raw) {
  const result = class extends base {
    constructor(...args) {
      super(...args);
      const constructing = construct(className, args);
      constructing.catch(() => {}); // told to each call below
      return new Proxy(this, {
        get(target, name, receiver) {
          if (typeof name !== "string") return Reflect.get(target, name, receiver);
          return async (...args) => {
            const instance = await constructing;
            if (typeof instance[name] !== "function") throw new TypeError(`Method ${name} does not exist`);
            if (raw.includes(name)) return await callPython(instance[name], true, args);
            const { call } = await starting;
            return await callPython(call, false, [name === "fetch", instance, name, ...args]);
          };
        },
      });
    }
  };
  for (const name of handlers) result.prototype[name] = () => {};
  return result;
}

export const workerClass = (name) =>
  entrypointClass(name, WorkerEntrypoint, ["fetch", "queue", "scheduled"], ["connect"]);

const objectEvents = ["alarm", "webSocketMessage", "webSocketClose", "webSocketError"];
export const durableObjectClass = (name) =>
  entrypointClass(name, DurableObject, ["fetch", ...objectEvents], ["connect", ...objectEvents]);
