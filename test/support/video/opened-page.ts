/** What a browser loads by itself when it opens a page: the page, its scripts and styles. */
export async function openPage(url: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url);
  const text = await response.text();
  for (const [, file] of text.matchAll(/(?:src|href)="([^"]+)"/g))
    await (await fetch(new URL(file ?? '', response.url))).arrayBuffer();
  return { status: response.status, text, headers: response.headers };
}
