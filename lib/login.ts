export interface Login {
  username: string;
  password: string;
}

/** What stands before the host of an address, decoded where it is encoded; undefined where nothing does. */
export function loginOfUrl({ username, password }: URL): Login | undefined {
  if (username === '' && password === '') return undefined;
  return { username: decoded(username), password: decoded(password) };
}

/** The value of a header (RFC 7617, section 2). A user without a password is one as well. */
export function basicAuthorization({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
