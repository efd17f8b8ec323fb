'use strict';
// A node of the benchmark alone, which Node-RED loads as it is (`nodesDir` in settings.js). It asks for the RTSP sessions of
// events, by messages to the *get RTSP* node in front of it and by bare POSTs, and measures both in this one process, where
// memory and compiled code are alike. A function node in its place costs about 20 µs a message, which are not get RTSP's.
const { cookie } = require('http-cookie-agent/undici');
const { CookieJar } = require('tough-cookie');
const { Agent, request } = require('undici');

const HEADERS = {
  ApiKey: 'key-of-the-test',
  'Content-Type': 'application/json',
  Accept: 'application/json',
  'User-Agent': 'benchmark',
};

module.exports = (RED) => {
  function RtspDriver(config) {
    RED.nodes.createNode(this, config);
    const { url, cameras, target } = config;
    const events = cameras.map(eventOf);
    const throughNode = new ThroughNode((msg) => RED.nodes.getNode(target).receive(msg));
    const bare = new BarePosts(url);
    this.on('input', (msg, _send, done) => {
      throughNode.received(msg);
      done();
    });

    /** One round: a side, and how many messages at a time. */
    RED.httpNode.get('/round', (req, res, next) => {
      const side = req.query.side === 'node' ? throughNode : bare;
      const count = Number(req.query.count);
      const width = Number(req.query.width);
      const figure = width === 1 ? oneAtATime(side, events, count) : manyAtATime(side, events, count, width);
      void figure.then((figure) => res.json({ figure }), next);
    });
  }
  RED.nodes.registerType('rtsp-driver', RtspDriver);
};

/** Median of the microseconds of one message. */
async function oneAtATime(side, events, count) {
  const times = new Float64Array(count);
  for (let at = 0; at < count; at += 1) times[at] = await side.ask(events[at % events.length]);
  return times.sort()[count >> 1] * 1000;
}

/** Messages per second. */
async function manyAtATime(side, events, count, width) {
  let asked = 0;
  const worker = async () => {
    while (asked < count) {
      asked += 1;
      await side.ask(events[asked % events.length]);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: width }, worker));
  return (count * 1000) / (performance.now() - from);
}

/** As the specification's samples have it (specification, section 2, Payload). */
function eventOf({ id, remoteId }) {
  return {
    version: '1.0.0',
    agentUserId: '0b9f1c52-6a53-4e0f-9b0a-1f6a0c7d1e11',
    agentUserTenantId: '6f6f3b1e-2c35-4a53-8c55-0a8a5f0b2a10',
    alarmId: '3f0b5a52-91cf-4d6a-8b6e-0d8a5f0b2a99',
    alarmTenantId: '2f0ee0c6-55d6-4a53-9d5b-cf0a8f1f3c01',
    eventClass: 'security',
    eventName: 'Person in yard',
    eventType: 'ObjectPresent',
    eventRuleName: 'Person in yard',
    eventStartTime: '2026-03-04T05:06:07.0000000',
    eventEndTime: null,
    entityTenantId: '2f0ee0c6-55d6-4a53-9d5b-cf0a8f1f3c01',
    locationId: '9d4c7c8e-7b4e-4d1f-8f43-0b7a7e6a9f02',
    locationName: 'Harbour Depot',
    serverId: '4b1f5d3e-9a0c-4c39-8a75-6e5c7d8f9a03',
    serverName: 'Recorder 1',
    cameraId: id,
    cameraName: 'Gate 1',
    cameraRemoteId: remoteId,
  };
}

class ThroughNode {
  #sent = 0;
  #send;

  constructor(send) {
    this.#send = send;
  }

  /** Milliseconds from the message that goes into the node to the one that comes out of it. */
  ask(event) {
    return new Promise((resolve, reject) => {
      this.#sent += 1;
      const asked = { resolve, reject, event, at: performance.now() };
      this.#send({ _msgid: `${this.#sent}`, topic: event.eventClass, payload: event, event, asked });
    });
  }

  received(msg) {
    const now = performance.now();
    const { resolve, reject, event, at } = msg.asked;
    if (isVideoOf(event, msg.payload)) resolve(now - at);
    else reject(new Error(`no video: ${JSON.stringify(msg.error)}`));
  }
}

/** The same by hand: undici with the usual cookie agent, as many connections as the package has, and no other work. */
class BarePosts {
  #url;
  #jar = new CookieJar();
  #dispatcher = new Agent({ connections: 32 }).compose(cookie({ jar: this.#jar }));
  #opened;

  constructor(url) {
    this.#url = url;
  }

  /** Milliseconds from the request to the address that its answer holds. */
  async ask(event) {
    await (this.#opened ??= this.#post('/login', {}));
    const at = performance.now();
    const { rtspRelayURL } = await this.#post(`/rtsp/${event.cameraId}`, {
      cameraId: event.cameraRemoteId,
      quality: 'high',
      t: event.eventStartTime,
      search: 'true',
    });
    const now = performance.now();
    if (isVideoOf(event, rtspRelayURL)) return now - at;
    throw new Error(`no video: ${rtspRelayURL}`);
  }

  async #post(path, body) {
    const { body: answer } = await request(this.#url + path, {
      dispatcher: this.#dispatcher,
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(body),
    });
    return answer.json();
  }
}

function isVideoOf({ cameraRemoteId }, url) {
  return typeof url === 'string' && url.endsWith(cameraRemoteId);
}
