// A JavaScript object that calls the Python one over RPC, whatever the method's name: test_other_events.py's client.
import { DurableObject } from "cloudflare:workers";

export class Caller extends DurableObject {
  async fetch(request) {
    const [name, method, ...given] = await request.json();
    try {
      return Response.json([(await this.env.DURABLE_STORE.getByName(name)[method](...given)) ?? null]);
    } catch (error) {
      return Response.json({ error: String(error) });
    }
  }
}
