import net from 'node:net';

/** Bytes: as much as Node.js reads at a time. */
const SIZE = 64 * 1024;

/**
 * A connection that is read into one buffer again and again: what `data` tells is good until its listeners return. With a buffer
 * for each read, as Node.js has it, a clip leaves megabytes of them about before they are collected.
 */
export function connectWithOneBuffer(options: net.TcpNetConnectOpts): net.Socket {
  const buffer = Buffer.allocUnsafeSlow(SIZE);
  const tell = (length: number): boolean => {
    socket.emit('data', buffer.subarray(0, length));
    return true;
  };
  const socket: net.Socket = net.connect({ ...options, onread: { buffer, callback: tell } });
  return socket;
}
