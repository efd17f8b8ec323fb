import { type FlowNode, functionNode } from './node-red';

/**
 * A node that notes how long each turn of the event loop was at work, in milliseconds, and tells of it when asked. In computing
 * time: what other programs take from this one is none of its work.
 */
export function turnMeter(target: string): FlowNode {
  const func = `const gaps = context.get('gaps');
context.set('gaps', []);
return { mark: msg.mark, payload: gaps };`;
  const initialize = `context.set('gaps', []);
const time = () => {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage).call(process);
  return (user + system) / 1000;
};
let last = time();
setInterval(() => {
  const now = time();
  context.get('gaps').push(now - last);
  last = now;
}, 1);`;
  return {
    ...functionNode('meter', func, target),
    initialize,
    libs: [{ var: 'process', module: 'process' }],
  };
}
