// What the host itself is asked, over HTTP with the run's secret in a header: readiness, and what tests do. None of
// it enters the application, save what it asks to run.
import { isolation } from "./isolation.mjs";
import { introduce } from "./host.mjs";
import { settings } from "./settings.mjs";

export const HEADER = "yungong-local";
const OBJECT_HEADER = "yungong-local-object";
const RESTARTED = "yungong-local constructs this object anew";

const named = ({ binding, name }) => isolation.bindings[binding].getByName(name);

const operations = {
  ready: (context) => introduce(context, settings.handlers),
  object: async (_, { what, ...which }) => await named(which)[settings.secret](what),
  restart: (_, which) => endInstance(named(which)),
  sent: (_, { queue }) => isolation.sent(queue),
  deliver: async (_, { queue, bodies }) => {
    const timestamp = new Date();
    const messages = bodies.map((body, index) => ({ id: `message-${index}`, timestamp, attempts: 1, body }));
    return await isolation.self.queue(queue, messages);
  },
  close: () => (isolation.close(), isolation.running),
  running: () => isolation.running,
  touched: () => isolation.touched(),
  wipe: async (_, { touched, shared }) => {
    const kept = new Set(shared.map((which) => String(isolation.bindings[which.binding].idFromName(which.name))));
    for (const [className, id] of touched) {
      const binding = isolation.bindings[settings.objects[className]];
      const keep = kept.has(id);
      const object = binding.get(binding.idFromString(id));
      await object[settings.secret](keep ? "calm" : "clear");
      if (!keep) await endInstance(object);
    }
  },
  open: (_, { nowMs }) => isolation.open(nowMs),
};

async function endInstance(object) {
  try {
    await object[settings.secret]("abort");
  } catch (error) {
    if (!error.message.includes(RESTARTED)) throw error;
  }
}

/** Answers a request that bears the secret: an operation, or an object's answer to the rest of the request. */
export async function answer(context, request) {
  try {
    const which = request.headers.get(OBJECT_HEADER);
    if (which !== null) {
      const headers = new Headers(request.headers);
      for (const name of [HEADER, OBJECT_HEADER]) headers.delete(name);
      return await named(JSON.parse(decodeURIComponent(which))).fetch(new Request(request, { headers }));
    }
    const { operation, ...rest } = await request.json();
    return Response.json({ value: (await operations[operation](context, rest)) ?? null });
  } catch (error) {
    return Response.json({ error: String(error?.stack ?? error) }, { status: 500 });
  }
}

const objectOperations = {
  alarm: (context) => context.storage.getAlarm(),
  async fire_alarm(context, callInstance) {
    const scheduledTime = await context.storage.getAlarm();
    if (scheduledTime === null) return false;
    await context.storage.deleteAlarm(); // as it is cleared when it fires
    await isolation.during(() => callInstance("alarm", [{ scheduledTime, retryCount: 0, isRetry: false }]));
    return true;
  },
  entries: async (context) =>
    [...(await context.storage.list())].map(([key, value]) => [key, JSON.parse(JSON.stringify(value) ?? "null")]),
  calm: (context) => context.storage.deleteAlarm(),
  async clear(context) {
    await context.storage.deleteAlarm();
    await context.storage.deleteAll();
  },
  async abort(context) {
    await context.storage.sync();
    context.abort(RESTARTED);
  },
};

/** Runs one of the host's own operations inside an object. */
export function objectOperation(context, callInstance, operation) {
  return objectOperations[operation](context, callInstance);
}
