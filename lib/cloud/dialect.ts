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
    /** Of any resource: where it is itself. */
    itself: 'rel/self',
    /*
     * The specification names the functions below and shows no relation for them (section 4). They are looked for in
     * the order given, on the device, its data sources and its PTZ controller.
     */
    details: ['rel/self'],
    snapshot: ['rel/snapshot', 'rel/snapshots', 'rel/live_snapshot'],
    ptzController: ['rel/ptz_controller', 'rel/ptz'],
    presets: ['rel/ptz_presets', 'rel/presets'],
    tours: ['rel/ptz_tours', 'rel/tours', 'rel/ptz_patterns', 'rel/patterns'],
    home: ['rel/home', 'rel/ptz_home', 'rel/go_home', 'rel/trigger_home', 'rel/goto_home'],
    /** On a preset. */
    gotoPreset: ['rel/trigger', 'rel/trigger_preset', 'rel/goto', 'rel/goto_preset'],
    /** On a list of presets, or wherever that may stand: the preset is named in the body. */
    gotoAnyPreset: ['rel/trigger_preset', 'rel/goto_preset'],
    /** On a tour. */
    startTour: ['rel/start', 'rel/start_tour', 'rel/trigger', 'rel/trigger_tour'],
    startAnyTour: ['rel/start_tour', 'rel/trigger_tour'],
    stopTour: ['rel/stop', 'rel/stop_tour', 'rel/halt'],
    stopAnyTour: ['rel/stop_tour', 'rel/halt'],
  },

  login: {
    /** The field names of the login body are not shown; both can be set in the cloud's service details. */
    userField: 'username',
    passwordField: 'password',
    /** Which status means "these credentials are not accepted" is not shown: any from 400 to 499 but these. */
    noRefusals: [408, 429, 431] as readonly number[],
  },

  apiKey: {
    /** Beside 401 and 403 the status of a `/system` that refuses the key, where the words of its body name the key. */
    refusal: 400,
    /** Names of the key, without the marks between their parts, wherever they stand in the body … */
    names: ['apikey', 'subscriptionkey'] as readonly string[],
    /** … and this, as a word of its own, where the body says what is wrong. */
    word: 'key',
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
    presets: ['ptz_presets', 'presets', 'ptzPresets'],
    tours: ['ptz_tours', 'tours', 'ptz_patterns', 'patterns', 'ptzTours', 'ptzPatterns'],
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
    /** A list with more elements is refused. */
    maxRecords: 100_000,
    /** So is a longer one, all its pages together: 100,000 cameras are less. */
    maxBytes: 128 * 1024 * 1024,
    /** Pages of the presets or tours of one camera. */
    maxTargetPages: 20,
    /** Data sources of one camera; more are passed over. */
    maxSources: 100,
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
    /** Whether live video is asked for without a time is not shown; `liveStyle` of the cloud chooses this spelling. */
    liveTime: 'live',
    liveSearch: 'false',
    /** Specification: `rtspRelayURL`. */
    url: ['rtspRelayURL', 'rtspRelayUrl', 'rtspUrl', 'url'],
  },

  ptz: {
    /** Ids are small integers from 0, or texts. */
    id: ['id', 'index', 'presetId', 'tourId', 'patternId', 'number'],
    name: ['name', 'presetName', 'tourName', 'displayName', 'label', 'description'],
    /** Marks the preset that is the home position. */
    home: ['isHome', 'is_home', 'home'],
    /** Where an action hangs on a list, its body names the target in these fields. */
    presetId: 'presetId',
    tourId: 'tourId',
    bodyType: 'Resource.Integer',
    /** Stops whatever runs, and takes no body. */
    stopsAll: 'rel/halt',
  },

  snapshot: {
    accept: 'image/jpeg, image/*;q=0.9, multipart/mixed;q=0.6, application/json;q=0.5, */*;q=0.1',
    /** Taken where a 405 to the GET names it: some make the picture anew for each request. */
    otherMethod: 'POST',
    /** Query parameter that asks for a width. */
    width: 'width',
    /** Header with the picture's time. */
    timeHeader: 'x-resource-timestamp',
    /** The same in a part of a multipart answer. */
    partTime: 'time',
    /** Where JSON may hold the picture as base64 text, with or without a `data:` prefix. */
    picture: ['image', 'jpeg', 'data', 'content', 'snapshot', 'base64', 'imageData', 'bytes'],
    /** Where JSON may hold an address of the picture. */
    url: ['url', 'imageUrl', 'imageURL', 'snapshotUrl', 'snapshotURL', 'href', 'uri', 'location'],
    /** Relations of JSON that may lead to the picture. */
    relations: ['rel/image', 'rel/picture', 'rel/snapshot', 'rel/jpeg', 'rel/content'],
    /** Where JSON may hold the picture's time. */
    time: ['timestamp', 'time', 'captureTime', 'capturedAt'],
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
    /** Codes, in lower case, of a camera that somebody else holds. They may come with 403, which then is no question of rights. */
    cameraBusy: ['camerainuse', 'cameralocked', 'needoverride', 'resourcelocked'] as readonly string[],
    /** Codes, in lower case, of recorded video that is not there; they come with 403 as well. */
    noVideo: ['edgeofstream', 'endofstream', 'noavailablestreams', 'storageunavailable'] as readonly string[],
    /** Statuses of a camera that somebody else holds, where a PTZ command was sent. */
    busyStatuses: [409, 423] as readonly number[],
  },
} as const;
