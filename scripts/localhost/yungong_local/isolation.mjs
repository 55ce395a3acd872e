// Keeps tests apart: remembers which objects a test has used, what it sent and what still runs. Outside of a test no
// batch and no alarm reaches Python, and in one no message does that was sent before it. In development it only counts.
import { settings } from "./settings.mjs";

const touched = new Map(); // "class id" -> [class, id]
const sent = new Map(); // queue -> bodies
let running = 0;
let between = settings.testing; // until a test begins
let began = 0; // messages up to this time, in Unix milliseconds, are of an earlier test
let self; // the Worker's binding to itself
let bindings;

const asJson = (value) => JSON.parse(JSON.stringify(value) ?? "null");

function record(producer, queue) {
  const note = (bodies) => sent.set(queue, [...(sent.get(queue) ?? []), ...bodies.map(asJson)]);
  const { send, sendBatch } = producer;
  producer.send = async (body, ...rest) => {
    const result = await send.call(producer, body, ...rest);
    note([body]);
    return result;
  };
  producer.sendBatch = async (messages, ...rest) => {
    const all = [...messages];
    const result = await sendBatch.call(producer, all, ...rest);
    note(all.map(({ body }) => body));
    return result;
  };
}

export const isolation = {
  get self() {
    return self;
  },
  get bindings() {
    return bindings;
  },
  get running() {
    return running;
  },
  sent: (queue) => sent.get(queue) ?? [],
  touched: () => [...touched.values()],

  /** Takes from the environment what is the host's own and listens to its producers, once. */
  watch(env) {
    if (bindings) return;
    bindings = env;
    if (!settings.testing) return;
    self = env[settings.selfBinding];
    delete env[settings.selfBinding];
    for (const [binding, queue] of Object.entries(settings.producers)) record(env[binding], queue);
  },

  async during(action) {
    running += 1;
    try {
      return await action();
    } finally {
      running -= 1;
    }
  },

  touch(className, id) {
    if (settings.testing) touched.set(`${className} ${id}`, [className, String(id)]);
  },

  /** Something, if Python must not see this batch. */
  batch(batch) {
    if (!settings.testing) return;
    const old = batch.messages.filter(({ timestamp }) => between || timestamp.getTime() <= began);
    if (old.length < batch.messages.length) {
      // Of a batch with messages of two tests Python would see both: those of this one come again by themselves.
      if (old.length) for (const message of batch.messages) old.includes(message) ? message.ack() : message.retry();
      return old.length ? Promise.resolve() : undefined;
    }
    batch.ackAll();
    return Promise.resolve();
  },

  alarm: () => (between ? Promise.resolve() : undefined),

  close() {
    between = true;
  },

  open(nowMs) {
    touched.clear();
    sent.clear();
    began = nowMs;
    between = false;
  },
};
