import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { RvmError } from '../../lib/error';
import { textOf, type Properties } from './settings';

/**
 * The value of a typed input: property `name`, whose type stands in `<name>Type`.
 * @throws RvmError BAD_INPUT where it cannot be evaluated, a broken JSONata expression for one
 */
export function typedValue(
  RED: NodeAPI,
  node: Node,
  { properties, name, byDefault }: { properties: Properties; name: string; byDefault: TypedDefault },
  msg: NodeMessage,
): Promise<unknown> {
  const value = textOf(properties, name, byDefault.value);
  const type = textOf(properties, `${name}Type`, byDefault.type);
  return new Promise((resolve, reject) => {
    const failed = (reason: string): void => {
      // What should hold the property is not in the message.
      if (type === 'msg') resolve(undefined);
      else
        reject(
          new RvmError('BAD_INPUT', `The property ${name} of this node cannot be evaluated: ${reason}.`),
        );
    };
    try {
      RED.util.evaluateNodeProperty(value, type, node, msg, (error, result) => {
        if (error) failed(error.message);
        else resolve(result);
      });
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
  });
}

export interface TypedDefault {
  value: string;
  type: string;
}
