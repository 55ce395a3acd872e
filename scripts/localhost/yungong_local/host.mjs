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
import { settings } from "./settings.mjs";
import { isolation } from "./isolation.mjs";
import { answer, HEADER, objectOperation } from "./control.mjs";

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
      isolation.during(async () => {
        const own = "copy" in promise ? promise.copy() : promise;
        try {
          await own;
        } finally {
          if ("destroy" in own) own.destroy();
        }
      }),
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
  const globals = pyodide.toPy({});
  globals.set("main", main);
  const [classes, handlers, call] = pyodide.runPython(`
from inspect import isawaitable
from pyodide.code import relaxed_call
from workers import DurableObject, WorkerEntrypoint, WorkflowEntrypoint, python_from_rpc, python_to_rpc

bases = DurableObject, WorkerEntrypoint, WorkflowEntrypoint
exported = (getattr(main, name) for name in getattr(main, "__all__", None) or dir(main))
classes = {
    one.__name__: one
    for one in exported
    if isinstance(one, type) and issubclass(one, bases) and one not in bases
}

def handlers(name, wanted):
    return [handler for handler in wanted if callable(getattr(classes[name], handler, None))]

async def call(relaxed, instance, name, *args):
    method = getattr(instance, name)
    args = [python_from_rpc(arg) for arg in args]
    result = relaxed_call(method, *args) if relaxed else method(*args)
    return python_to_rpc(await result if isawaitable(result) else result)

classes, handlers, call
`, { globals, filename: "<host>" });
  return { classes, handlers, call };
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
  const { classes } = await python(args[0]);
  const found = classes.get(className);
  if (found === undefined) {
    throw new TypeError(`There is no '${className}' class defined in the Python Worker's main module`);
  }
  return await callPython(found, false, args);
}

/** What Python's classes are and handle, for the host's own question. */
export async function introduce(context, wanted) {
  const { classes, handlers } = await python(context);
  return Object.fromEntries(
    Object.entries(wanted).map(([name, names]) => {
      if (!classes.has(name)) return [name, null];
      const own = handlers(name, names);
      const list = own.toJs();
      own.destroy();
      return [name, list];
    }),
  );
}

/**
 * @param handlers   events that the class handles: workerd asks at start, before Python can be asked
 * @param raw        of all events, the ones whose arguments Python gets as they are
 * @param intercept  the host's own answer to a call, instead of Python's; undefined where it has none
 */
function entrypointClass(className, base, handlers, raw, intercept) {
  const result = class extends base {
    constructor(...constructorArguments) {
      super(...constructorArguments);
      let constructing;
      const callInstance = async (name, args) => {
        constructing ??= construct(className, constructorArguments);
        const instance = await constructing;
        if (typeof instance[name] !== "function") throw new TypeError(`Method ${name} does not exist`);
        if (raw.includes(name)) return await callPython(instance[name], true, args);
        const { call } = await starting;
        return await callPython(call, false, [name === "fetch", instance, name, ...args]);
      };
      return new Proxy(this, {
        get(target, name, receiver) {
          if (typeof name !== "string") return Reflect.get(target, name, receiver);
          return (...args) => {
            const own = intercept(target, name, args, callInstance);
            return own === undefined ? isolation.during(() => callInstance(name, args)) : own;
          };
        },
      });
    }
  };
  for (const name of handlers) result.prototype[name] = () => {};
  return result;
}

export function workerClass(className, handlers) {
  return entrypointClass(className, WorkerEntrypoint, handlers, ["connect"], ({ ctx, env }, name, args) => {
    isolation.watch(env);
    if (name === "fetch" && args[0].headers.get(HEADER) === settings.secret) return answer(ctx, args[0]);
    if (name === "queue") return isolation.batch(args[0]);
  });
}

const objectEvents = ["alarm", "webSocketMessage", "webSocketClose", "webSocketError"];

export function durableObjectClass(className, handlers) {
  const raw = ["connect", ...objectEvents];
  return entrypointClass(className, DurableObject, handlers, raw, ({ ctx, env }, name, args, callInstance) => {
    isolation.watch(env);
    if (name === settings.secret) return objectOperation(ctx, callInstance, ...args);
    isolation.touch(className, ctx.id);
    if (name === "alarm") return isolation.alarm();
  });
}
