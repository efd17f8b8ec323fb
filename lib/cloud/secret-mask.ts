const MASK = '***';
const RTSP_URL = /\brtsps?:\/\/[^\s"'<>`]+/gi;

/** Secrets shorter than this are not looked for: they would blank out ordinary text and protect nothing. */
const SHORTEST = 3;

/** Takes our secrets out of a text of the service, in the spellings in which an answer may echo them. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  let masked = text.replace(RTSP_URL, MASK);
  for (const spelling of spellingsOf(secrets)) masked = masked.replaceAll(spelling, MASK);
  return masked;
}

function spellingsOf(secrets: readonly string[]): string[] {
  const spellings = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST) continue;
    spellings.add(secret);
    spellings.add(encodeURIComponent(Buffer.from(secret, 'utf8').toString('utf8')));
    spellings.add(JSON.stringify(secret).slice(1, -1));
    spellings.add(Buffer.from(secret, 'utf8').toString('base64'));
    spellings.add(escapeHtml(secret));
  }
  // Longest first: a secret that contains another one must not leave its rest behind.
  return [...spellings].sort((a, b) => b.length - a.length);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
