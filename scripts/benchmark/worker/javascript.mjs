// The operations of a Worker that is written in JavaScript, in the isolate that Python runs in.
import { DurableObject } from "cloudflare:workers";

// As in settings.py
const LISTED = "list:";
const LISTED_COUNT = 100;
const TRANSACTION_KEYS = ["t:0", "t:1", "t:2", "t:3"];
const ALARM_MS = 4_000_000_000_000;

const operations = {
  async get({ storage }, keys) {
    for (const key of keys) JSON.stringify(await storage.get(key));
  },
  async put({ storage, text }, keys) {
    for (const key of keys) await storage.put(key, JSON.parse(text));
  },
  async delete({ storage }, keys) {
    for (const key of keys) await storage.delete(key);
  },
  async listing({ storage }, keys) {
    for (const _ of keys) JSON.stringify(Array.from(await storage.list({ prefix: LISTED })));
  },
  async send({ env, text }, keys) {
    for (const _ of keys) await env.SINK_QUEUE.send(JSON.parse(text), { contentType: "json" });
  },
  async transaction({ storage, text }, keys) {
    for (const _ of keys) {
      await storage.transaction(async (transaction) => {
        for (const key of TRANSACTION_KEYS) {
          JSON.stringify(await transaction.get(key));
          await transaction.put(key, JSON.parse(text));
        }
      });
    }
  },
  async get_alarm({ storage }, keys) {
    for (const _ of keys) await storage.getAlarm();
  },
  async set_alarm({ storage }, keys) {
    for (const number of keys.keys()) await storage.setAlarm(ALARM_MS + number);
  },
  // Called on another object, which does nothing.
  async request({ stub }, keys) {
    for (const _ of keys) await (await stub.fetch("http://object/")).text();
  },
};

export class JavaScriptStore extends DurableObject {
  async fetch(request) {
    const { operation, text, count, names, stored, target, ballast } = await request.json();
    const { storage } = this.ctx;
    const keys = Array.from({ length: count }, (_, index) => `k:${index % names}`);
    const prepared = stored ? [...new Set(keys)] : [];
    if (operation === "listing") prepared.push(...Array.from({ length: LISTED_COUNT }, (_, index) => LISTED + index));
    for (const key of prepared) storage.kv.put(key, JSON.parse(text));
    if (storage.sql.databaseSize < ballast * 1_000_000) {
      for (let index = 0; index < ballast; index++) storage.kv.put(`ballast:${index}`, "x".repeat(1_000_000));
    }
    await storage.sync();
    const stub = target && this.env[target].get(this.env[target].idFromName("target"));
    const context = { storage, text, env: this.env, stub };
    let start = Date.now();
    for (const before = start; start === before; ) start = Date.now();
    await operations[operation](context, keys);
    await storage.sync();
    const microseconds = ((Date.now() - start) * 1000) / count;
    for (const key of new Set(keys)) storage.kv.delete(key);
    return Response.json({ microseconds });
  }
  alarm() {}
}

export class JavaScriptEmptyStore extends DurableObject {
  async fetch() {
    return new Response(null);
  }
}

export function readBatch(batch) {
  const messages = batch.messages.map(({ id, attempts, timestamp, body }) => ({
    id,
    attempts,
    timestamp: timestamp.getTime(),
    body,
  }));
  return JSON.stringify({ queue: batch.queue, messages });
}
