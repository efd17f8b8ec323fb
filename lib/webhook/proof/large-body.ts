/**
 * Bodies that are longer are proven in a thread, in bytes: a hash or the JSON of 1 MiB would hold up all of Node-RED, and a
 * stranger may send as many as they like. Events are far smaller.
 */
export const LARGE_BODY = 64 * 1024;
