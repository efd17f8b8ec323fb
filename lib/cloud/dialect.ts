/**
 * Every fact about the service that the specification leaves open, in one table: what we send by default and
 * what else we accept. The names marked "specification" are given there; all others are tolerance.
 */
export const DIALECT = {
  relations: {
    /** Specification, section 2, System resource. Offered only while nobody is logged in. */
    login: 'rel/login',
    /** Specification, section 2, System resource. Offered only after login. */
    devices: 'rel/devices',
    /** Specification, section 2, Device resource. */
    dataSources: 'rel/data_sources',
    /** Specification, section 2, Data sources resource. */
    rtsp: 'rel/rtsp',
    /** A resource's own address; taken as the details of a camera. */
    self: 'rel/self',
  },

  login: {
    /** The field names of the login body are not shown; both can be set in the cloud's service details. */
    userField: 'username',
    passwordField: 'password',
    /** Answers that mean "these credentials are not accepted"; which one the service uses is not shown. */
    refusals: [400, 401, 403, 422] as readonly number[],
  },

  device: {
    /** Specification: `id`. */
    id: ['id', 'cameraId', 'deviceId'],
    name: ['name', 'cameraName', 'deviceName', 'displayName', 'label'],
    site: ['site', 'siteName', 'site_name', 'locationName', 'location'],
    /** Where a camera may show the id that its site knows it by. */
    remoteId: ['remoteId', 'cameraRemoteId', 'remoteCameraId', 'remote_id'],
    /** Specification: `status`. The others are read only where it is missing or empty. */
    status: ['status', 'state', 'connectionState', 'connectionStatus'],
    /** Specification: the value `online` marks a usable camera. */
    onlineStatus: 'online',
    /** The same said by `state` and its like. */
    onlineStates: ['online', 'connected'] as readonly string[],
    /** The same said by a yes-or-no field. */
    onlineFlags: ['connected', 'online'],
    /** Where a status that is an object keeps its word. */
    statusWord: ['state', 'status', 'value', 'name'],
  },

  collection: {
    devices: ['devices', 'cameras'],
    dataSources: ['data_sources', 'dataSources'],
    /** Names of an array that say nothing about its content. */
    anonymous: ['items', 'results', 'value', 'data'],
    /** Objects that may be wrapped around a collection or a single record. */
    wrappers: ['result', 'data'],
    /** Objects that may be wrapped around a single camera. */
    recordWrappers: ['result', 'data', 'device', 'camera'],
    /** Fields of an envelope: never an element of a map from id to record. */
    envelope: [
      '_links',
      '_embedded',
      '_limits',
      'links',
      'collection_header',
      'meta',
      'error',
      'errors',
      'paging',
      'pagination',
    ] as readonly string[],
    /** Objects of an envelope that may hold the links of the page. */
    headers: ['collection_header'],
    /** Where the address of the next page may stand outside `_links`. */
    next: ['@odata.nextLink', 'next', 'nextLink'],
    /** A service that pages without end is cut off here. */
    maxPages: 1000,
  },

  dataSource: {
    /** What tells a data source with pictures, so that it is preferred to sound. */
    type: ['type'],
    video: 'video',
  },

  rtsp: {
    /** Specification: the quality value `high` is used; `low` is known from a related interface. */
    quality: 'high',
    /** Specification: the text `true` asks for recorded video. */
    recordedSearch: 'true',
    /** Specification: `rtspRelayURL`. */
    url: ['rtspRelayURL', 'rtspRelayUrl', 'rtspUrl', 'url'],
    ports: { rtsp: 554, rtsps: 322 } as Readonly<Record<string, number>>,
    maxUrlLength: 4096,
  },

  error: {
    code: ['code', 'errorCode', 'error_code'],
    message: ['message', 'detail', 'title', 'error_description', 'errorMessage', 'error', 'reason'],
    /** Objects inside an error body that hold the code or the message. */
    nested: ['error', 'meta', 'result'],
    /** Inside `meta` the code goes by this name. */
    codeName: ['name'],
    /** Codes, in lower case, of a camera that is listed as online but cannot be reached after all. */
    cameraOffline: [
      'cameraunavailable',
      'cameraoffline',
      'camera_offline',
      'deviceoffline',
      'device_offline',
    ] as readonly string[],
  },
} as const;

/** Pauses of the client, in milliseconds. Tests shorten them; nobody else sets them. */
export interface StationTiming {
  /** After a refused login no other one is tried for so long; the last error is given at once. */
  loginPauseMs: number;
  /** After a link was refused right after a fresh login no further login is made for so long. */
  refusalMs: number;
  /** A camera that is not in the directory causes at most one refresh of it in this time. */
  missRefreshMs: number;
}

export const STATION_TIMING: Readonly<StationTiming> = {
  loginPauseMs: 5_000,
  refusalMs: 60_000,
  missRefreshMs: 30_000,
};
