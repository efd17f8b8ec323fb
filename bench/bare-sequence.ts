import assert from 'node:assert/strict';

interface Answer {
  links: Readonly<Record<string, string>>;
  devices: readonly { id: string; _links: Readonly<Record<string, string>> }[];
  cookie: string | undefined;
}

/**
 * The sequence of the specification (section 4) for the video of one event, walked from its beginning as plainly as can be.
 * @returns the requests it took
 */
export async function walkSequence(url: string, camera: { id: string; remoteId: string }): Promise<number> {
  let requests = 0;
  const ask = (path?: string, body?: object, cookie?: string): Promise<Answer> => {
    requests += 1;
    return answerOf(url, path, body, cookie);
  };
  const before = await ask('/system');
  const { cookie } = await ask(before.links['rel/login'], { username: 'agent', password: 'password' });
  const system = await ask('/system', undefined, cookie);
  let page = await ask(system.links['rel/devices'], undefined, cookie);
  const onPage = (): Answer['devices'][number] | undefined => page.devices.find(({ id }) => id === camera.id);
  while (onPage() === undefined) page = await ask(page.links['next'], undefined, cookie);
  const sources = await ask(onPage()?._links['rel/data_sources'], undefined, cookie);
  await ask(sources.links['rel/rtsp'], { cameraId: camera.remoteId, quality: 'high' }, cookie);
  return requests;
}

async function answerOf(url: string, path?: string, body?: object, cookie?: string): Promise<Answer> {
  assert.ok(path !== undefined, 'a link is missing');
  const response = await fetch(url + path, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    ...(cookie !== undefined && { headers: { Cookie: cookie } }),
  });
  assert.equal(response.status, 200);
  const answer = (await response.json()) as { _links?: Answer['links']; devices?: Answer['devices'] };
  const [setCookie] = response.headers.getSetCookie();
  return { links: answer._links ?? {}, devices: answer.devices ?? [], cookie: setCookie?.split(';')[0] };
}
