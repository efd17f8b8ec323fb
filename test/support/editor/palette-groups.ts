/** What the nodes of the palette are there for, each with its colour, in the order in which the palette shows them. */
export const GROUPS = {
  receiving: {
    color: '#e8a866',
    types: ['webhook-in', 'alarm-state', 'settle', 'list-events', 'watch', 'verify'],
  },
  asking: { color: '#a9cee0', types: ['list-devices', 'get-device', 'ptz', 'request'] },
  video: { color: '#a597cc', types: ['get-picture', 'get-clip', 'view', 'get-rtsp', 'snapshot'] },
} as const;

export const IN_PALETTE: readonly string[] = Object.values(GROUPS).flatMap(({ types }) => types);
