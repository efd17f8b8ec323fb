import { RvmError } from '../error';
import type { Inbox } from './inbox';

/**
 * Does something with a message in whichever inbox knows it; one that fails, or hangs, does not hold up the others.
 * @param act false where the inbox does not know the message
 * @throws RvmError UNKNOWN_DELIVERY, and what `act` throws where no inbox knows the message
 */
export async function actWhereKnown(
  inboxes: readonly Inbox[],
  act: (inbox: Inbox) => Promise<boolean>,
): Promise<void> {
  const acting = inboxes.map(async (inbox) => {
    if (!(await act(inbox))) throw unknownDelivery();
  });
  try {
    await Promise.any(acting);
  } catch (error) {
    // One that fails may be the one that knows it.
    const failures = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw failures.find((failure) => !isUnknownDelivery(failure)) ?? unknownDelivery();
  }
}

function unknownDelivery(): RvmError {
  return new RvmError(
    'UNKNOWN_DELIVERY',
    'No inbox knows this delivery id: it comes from another Node-RED, or the event is kept no more.',
  );
}

function isUnknownDelivery(error: unknown): boolean {
  return error instanceof RvmError && error.code === 'UNKNOWN_DELIVERY';
}
