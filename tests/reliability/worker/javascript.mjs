// The engine's side: the oracle of hostile text, and storage that refuses.
import { DurableObject } from "cloudflare:workers";

const RESERVED = new Set(["$句柄", "$未定义", "$大整数", "$数字"]);
const bytes = (text) => new TextEncoder().encode(text);

/** Walks a parsed value, one level at a time, and says what the specifications ask about. */
function walk(value, seen = { depth: 0, record: false, member: false, infinite: false, members: 0 }, depth = 0) {
  seen.depth = Math.max(seen.depth, depth);
  if (typeof value === "number") seen.infinite ||= !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return seen;
  seen.depth = Math.max(seen.depth, depth + 1);
  if (depth > 200) return seen;
  if (Array.isArray(value)) for (const item of value) walk(item, seen, depth + 1);
  else {
    const names = Object.keys(value);
    seen.members += names.length;
    if (names.length === 1 && RESERVED.has(names[0])) seen.record = true;
    for (const name of names) {
      if (RESERVED.has(name)) seen.member = true;
      walk(value[name], seen, depth + 1);
    }
  }
  return seen;
}

/** How often a colon stands outside of strings: how many members valid text has, repeated names included. */
function writtenMembers(text) {
  let count = 0;
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    if (inside && text[i] === "\\") i++;
    else if (text[i] === '"') inside = !inside;
    else if (!inside && text[i] === ":") count++;
  }
  return count;
}

function judge(text) {
  if (!text.isWellFormed()) return { valid: false };
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return { valid: false };
  }
  const seen = walk(value);
  const canonical = JSON.stringify(value);
  return {
    valid: true,
    ...seen,
    // A member that a later one of its name replaces is written and not there: what it holds is not judged.
    hidden: writtenMembers(text) !== seen.members,
    bytes: bytes(text).length,
    canonical,
    canonicalBytes: bytes(canonical).length,
  };
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function compareBytes(one, other) {
  const [a, b] = [bytes(one), bytes(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** What a listing over `keys` (each holding 1) must be; null where the options are invalid. */
function list(value, keys) {
  if (!isObject(value)) return null;
  const kinds = { prefix: "string", start: "string", startAfter: "string", end: "string", limit: "number", reverse: "boolean" };
  for (const [name, option] of Object.entries(value)) if (!Object.hasOwn(kinds, name) || typeof option !== kinds[name]) return null;
  const { prefix, start, startAfter, end, limit, reverse } = value;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) return null;
  if (start && startAfter) return null;
  let found = keys.filter(
    (key) =>
      (!prefix || key.startsWith(prefix)) &&
      (!start || compareBytes(key, start) >= 0) &&
      (!startAfter || compareBytes(key, startAfter) > 0) &&
      (!end || compareBytes(key, end) < 0),
  );
  found.sort(compareBytes);
  if (reverse) found.reverse();
  if (limit !== undefined) found = found.slice(0, limit);
  return JSON.stringify(found.map((key) => [key, 1]));
}

/** What sendBatch must be given; null where the batch is invalid. */
function batch(value) {
  if (!Array.isArray(value) || value.length < 1 || value.length > 100) return null;
  let total = 0;
  const requests = [];
  for (const item of value) {
    if (!isObject(item) || !Object.hasOwn(item, "body")) return null;
    if (Object.keys(item).some((name) => name !== "body" && name !== "delaySeconds")) return null;
    const delay = Object.hasOwn(item, "delaySeconds") ? item.delaySeconds : 0;
    if (!Number.isInteger(delay) || delay < 0 || delay > 43200) return null;
    const seen = walk(item.body);
    const size = bytes(JSON.stringify(item.body)).length;
    if (seen.depth > 24 || seen.member || seen.infinite || size > 128000) return null;
    total += size;
    requests.push({ body: item.body, contentType: "json", ...(delay ? { delaySeconds: delay } : {}) });
  }
  return total > 256000 ? null : JSON.stringify(requests);
}

export class Oracle extends DurableObject {
  async fetch(request) {
    const { keys, inputs } = await request.json();
    return Response.json(
      inputs.map(([kind, text]) => {
        const verdict = judge(text);
        if (!verdict.valid) return verdict;
        const value = JSON.parse(text);
        const lone = !(kind === "options" && isObject(value)) || Object.values(value).every((option) => typeof option !== "string" || option.isWellFormed());
        if (kind === "options") return { ...verdict, wellFormed: lone, listing: list(value, keys) };
        if (kind === "batch") return { ...verdict, requests: verdict.bytes > 1048576 ? null : batch(value) };
        return verdict;
      }),
    );
  }
}

// Refusals

const reasonOf = (reason) =>
  typeof reason === "string" ? new Error(reason) : reason.bare === "undefined" ? undefined : reason.bare;

/**
 * The real storage, except that a call that `plan` names fails: {"put": {"after": 1, "reason": "text" | {"bare": …}}}
 * lets one put pass and fails the next. Keys are put, list, delete, get, commit, rollback, getAlarm, setAlarm,
 * deleteAlarm and deleteAll. Promises reject; what is synchronous throws.
 */
export function refusing(storage, planText) {
  const plan = JSON.parse(planText);
  const refuses = (name) => {
    const entry = plan[name];
    if (!entry || entry.after-- > 0) return false;
    delete plan[name];
    return { reason: reasonOf(entry.reason) };
  };
  const wrapped = (target, names, synchronous) =>
    new Proxy(target, {
      get(_, name) {
        const value = target[name];
        if (!names.includes(name)) return typeof value === "function" ? value.bind(target) : value;
        return (...args) => {
          const refusal = refuses(name);
          if (!refusal) return value.apply(target, args);
          if (synchronous) throw refusal.reason;
          return Promise.reject(refusal.reason);
        };
      },
    });
  const alarms = ["getAlarm", "setAlarm", "deleteAlarm"];
  const kv = wrapped(storage.kv, ["get", "put", "delete", "list"], true);
  const transaction = (closure) =>
    storage.transaction(async (txn) => {
      const outer = wrapped(txn, alarms, false);
      await closure(
        new Proxy(outer, {
          get(_, name) {
            if (name !== "rollback") return outer[name];
            return () => {
              const refusal = refuses("rollback");
              if (refusal) throw refusal.reason;
              return txn.rollback();
            };
          },
        }),
      );
      const refusal = refuses("commit");
      if (refusal) throw refusal.reason; // rolls back, as a commit that fails does
    });
  const outer = wrapped(storage, [...alarms, "deleteAll"], false);
  return new Proxy(outer, {
    get: (_, name) => (name === "kv" ? kv : name === "transaction" ? transaction : outer[name]),
  });
}
