import type { PageQuery, PlaceInTime, StoredMessage } from './port';

/** A message; of an event that has an alarm a short name of that, unlike any of another alarm or station: its id may be of any length. */
export type PagedMessage = StoredMessage & { alarm?: string };

export type PageOfMessages = PagedMessage[];

/** Rows of a page: with bodies few enough for a moment of the store. */
const ROWS = 200;
const ROWS_WITHOUT_BODIES = 2000;

/**
 * All messages of a period, a page at a time; what comes in or goes meanwhile may be among them or not.
 * @param read asks the store
 */
export async function* pagesOf(
  read: (query: PageQuery) => Promise<PageOfMessages>,
  query: Omit<PageQuery, 'after' | 'limit'>,
): AsyncGenerator<PageOfMessages> {
  const limit = query.bodies ? ROWS : ROWS_WITHOUT_BODIES;
  let after: PlaceInTime | undefined;
  for (;;) {
    const page = await read({ ...query, limit, ...(after && { after }) });
    const whole = query.bodies ? untilNoRoom(page) : page;
    const last = whole.at(-1);
    if (last === undefined) return;
    yield whole;
    after = { received: last.received, sequence: last.sequence };
    if (page.length < limit && whole.length === page.length) return;
  }
}

/** The first is always given as far as it can be. */
function untilNoRoom(page: PageOfMessages): PageOfMessages {
  const without = page.findIndex(
    ({ bytes, isIncomplete, isUnread }, index) =>
      index > 0 && bytes === undefined && isIncomplete === undefined && isUnread === undefined,
  );
  return without < 0 ? page : page.slice(0, without);
}
