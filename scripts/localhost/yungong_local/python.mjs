// Starts CPython. Follows Cloudflare's own loader (workerd, src/pyodide/internal), which cannot be used itself:
// it needs a bundle that is fetched at start. Runs in workerd and, once, in node (see capture.mjs).
import createPyodideModule from "./pyodide.asm.mjs";

// Pyodide's src/core/jsverror.ts, assembled: makes and recognises the value that stands for an error.
const JSV_ERROR =
  "AGFzbQEAAAABDANfAGAAAW9gAW8BfwMDAgECBygCE0pzdl9HZXRFcnJvcl9pbXBvcnQAAA5Kc3ZFcnJvcl9DaGVjawABChMCBwD7AQD7GwsJACAA+xr7FAAL";

/**
 * @param wasm           the compiled pyodide.asm.wasm
 * @param stdlib         the bytes of python_stdlib.zip
 * @param newWasmModule  bytes -> WebAssembly.Module; workerd forbids compiling, so the host looks them up
 * @param onFatal        called with the error when the interpreter has died
 */
export async function startPython({ wasm, stdlib, newWasmModule, onFatal }) {
  let ready, failed;
  const started = new Promise((resolve, reject) => ([ready, failed] = [resolve, reject]));

  const settings = {
    newWasmModule,
    preRun: [
      (module) => {
        const version = module.HEAPU32[module._Py_Version >>> 2];
        const [major, minor] = (module.API.pyVersionTuple = [version >>> 24, (version >>> 16) & 255, (version >>> 8) & 255]);
        const { FS } = module;
        module.API.sitePackages = FS.sitePackages = `/lib/python${major}.${minor}/site-packages`;
        FS.sessionSitePackages = "/session" + FS.sitePackages;
        for (const path of [FS.sitePackages, FS.sessionSitePackages, "/session/metadata"]) FS.mkdirTree(path);
        FS.writeFile(`/lib/python${major}${minor}.zip`, new Uint8Array(stdlib), { canOwn: true });
        Object.assign(module.ENV, module.API.config.env);
      },
    ],
    instantiateWasm(imports, done) {
      const { Jsv_GetError_import, JsvError_Check } = new WebAssembly.Instance(
        newWasmModule(Uint8Array.from(atob(JSV_ERROR), (c) => c.charCodeAt(0))),
      ).exports;
      Object.assign(imports.env, { Jsv_GetError_import, JsvError_Check });
      // Without this Emscripten waits for ever when instantiation fails.
      WebAssembly.instantiate(wasm, imports).then((instance) => done(instance, wasm)).catch(failed);
      return {};
    },
    API: {
      // The hash seed is Cloudflare's: the order of a set is the same here and there.
      config: {
        jsglobals: globalThis,
        env: { HOME: "/session", PYTHONHASHSEED: "111" },
        lockFileURL: "",
        enableRunUntilComplete: true,
      },
      // This decides how Pyodide's event loop runs a callback "soon". Neither IN_NODE (setImmediate) nor a lack of
      // MessageChannel (setTimeout): as on Cloudflare, it posts to a MessageChannel. workerd delivers such a
      // message ahead of timers and I/O, so a busy loop of asyncio.sleep(0) starves them, there as here.
      // Delays up to 2 ms take the same way; longer ones are setTimeout.
      runtimeEnv: { IN_WORKERD: true, IN_BROWSER: true, IN_BROWSER_MAIN_THREAD: true },
    },
  };

  withoutNode(() => createPyodideModule(settings).then(ready, failed));
  const module = await started;
  module.API.finalizeBootstrap();
  module.API.on_fatal = onFatal;
  const pyodide = module.API.public_api;
  pyodide.loadPackage = () => {
    throw new Error("pyodide.loadPackage is disabled");
  };
  return pyodide;
}

// Emscripten looks at globals to find out where it runs. It must take this for a browser's main thread: under
// nodejs_compat `process` looks like Node's, and without `window` it asks for a worker's addEventListener.
function withoutNode(action) {
  const disguise = {
    window: { sessionStorage: {} },
    document: { createElement() {} },
    sessionStorage: {},
    importScripts: 1,
    WorkerGlobalScope: undefined,
    process: undefined,
    addEventListener() {},
  };
  const before = Object.keys(disguise).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  for (const [name, value] of Object.entries(disguise)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  try {
    return action();
  } finally {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else delete globalThis[name];
    }
  }
}
