/**
 * All facts about the service that the specification leaves open, in one table: what the client sends by default and what else
 * it accepts. Names marked "specification" come from there; all others are tolerance.
 */
export const DIALECT = {
  relations: {
    /** Specification, section 2, System resource. Offered only before login. */
    login: 'rel/login',
    /** Specification, section 2, System resource. Offered only after login. */
    devices: 'rel/devices',
    /** Specification, section 2, Device resource. */
    dataSources: 'rel/data_sources',
    /** Specification, section 2, Data sources resource. */
    rtsp: 'rel/rtsp',
    /** Of any resource: its own address. */
    itself: 'rel/self',
    /*
     * The specification names the functions below but shows no relation for them (section 4). They are
     * searched in this order on the device, its data sources and its PTZ controller.
     */
    details: ['rel/self'],
    snapshot: ['rel/snapshot', 'rel/snapshots', 'rel/live_snapshot'],
    ptzController: ['rel/ptz_controller', 'rel/ptz'],
    presets: ['rel/ptz_presets', 'rel/presets'],
    tours: ['rel/ptz_tours', 'rel/tours', 'rel/ptz_patterns', 'rel/patterns'],
    home: ['rel/home', 'rel/ptz_home', 'rel/go_home', 'rel/trigger_home', 'rel/goto_home'],
    /** On a preset. */
    gotoPreset: ['rel/trigger', 'rel/trigger_preset', 'rel/goto', 'rel/goto_preset'],
    /** On a list of presets, or where that list may be linked: the body names the preset. */
    gotoAnyPreset: ['rel/trigger_preset', 'rel/goto_preset'],
    /** On a tour. */
    startTour: ['rel/start', 'rel/start_tour', 'rel/trigger', 'rel/trigger_tour'],
    startAnyTour: ['rel/start_tour', 'rel/trigger_tour'],
    stopTour: ['rel/stop', 'rel/stop_tour', 'rel/halt'],
    stopAnyTour: ['rel/stop_tour', 'rel/halt'],
  },

  login: {
    /** The specification does not show the field names of the login body; both can be set in the cloud's service details. */
    userField: 'username',
    passwordField: 'password',
    /** The specification does not show which status means refused credentials: any from 400 to 499 except these. */
    noRefusals: [408, 429, 431] as readonly number[],
  },

  apiKey: {
    /** Status of a `/system` that rejects the key, besides 401 and 403, if the body names the key. */
    refusal: 400,
    /** Names of the key, without separators, anywhere in the body. */
    names: ['apikey', 'subscriptionkey'] as readonly string[],
    /** This word counts only on its own, and only in the error code or message. */
    word: 'key',
  },

  device: {
    /** Specification: `id`. */
    id: ['id', 'cameraId', 'deviceId'],
    name: ['name', 'cameraName', 'deviceName', 'displayName', 'label'],
    site: ['site', 'siteName', 'site_name', 'locationName', 'location'],
    /** Fields for the id by which the site knows the camera. */
    remoteId: ['remoteId', 'cameraRemoteId', 'remoteCameraId', 'remote_id'],
    /** Specification: `status`. The others are read only where it is missing or empty. */
    status: ['status', 'state', 'connectionState', 'connectionStatus'],
    /** Specification: the value `online` marks a usable camera. */
    onlineStatus: 'online',
    /** The same in `state` and similar fields. */
    onlineStates: ['online', 'connected'] as readonly string[],
    /** The same as a boolean field. */
    onlineFlags: ['connected', 'online'],
    /** Fields of a status object that contain the word. */
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
    /** Where the address of the next page may be outside `_links`. */
    next: ['@odata.nextLink', 'next', 'nextLink'],
    /** Limit for a service whose pages never end. */
    maxPages: 1000,
    /** Longer lists are rejected. */
    maxRecords: 100_000,
    /** Bytes of all pages of a list; longer ones are rejected, and 100,000 cameras need less. */
    maxBytes: 128 * 1024 * 1024,
    /** Pages of the presets or tours of one camera. */
    maxTargetPages: 20,
    /** Data sources of one camera; further ones are ignored. */
    maxSources: 100,
  },

  dataSource: {
    /** Field that marks a data source as video, which is preferred to audio. */
    type: ['type'],
    video: 'video',
  },

  rtsp: {
    /** Specification: the quality value `high` is used; `low` is known from a related interface. */
    quality: 'high',
    /** Specification: the text `true` requests recorded video. */
    recordedSearch: 'true',
    /**
     * The specification does not show whether live video is requested without a time; `liveStyle` of the cloud selects this
     * spelling.
     */
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
    /** Fields of the body that name the target, if an action is on a list. */
    presetId: 'presetId',
    tourId: 'tourId',
    bodyType: 'Resource.Integer',
    /** Stops any running tour, and takes no body. */
    stopsAll: 'rel/halt',
  },

  snapshot: {
    accept: 'image/jpeg, image/*;q=0.9, multipart/mixed;q=0.6, application/json;q=0.5, */*;q=0.1',
    /** Used if a 405 to the GET allows it: some services take a new picture for each request. */
    otherMethod: 'POST',
    /** Query parameter for the width. */
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
    /** Objects inside an error body that contain the code or the message. */
    nested: ['error', 'meta', 'result'],
    /** Name of the code inside `meta`. */
    codeName: ['name'],
    /** Codes, in lower case, of a camera that is listed as online but cannot be reached. */
    cameraOffline: [
      'cameraunavailable',
      'cameraoffline',
      'camera_offline',
      'deviceoffline',
      'device_offline',
    ] as readonly string[],
    /**
     * Codes, in lower case, of a camera that another user holds. They may come with 403, which then does not mean a missing
     * permission.
     */
    cameraBusy: ['camerainuse', 'cameralocked', 'needoverride', 'resourcelocked'] as readonly string[],
    /** Codes, in lower case, for recorded video that does not exist; they may come with 403 as well. */
    noVideo: ['edgeofstream', 'endofstream', 'noavailablestreams', 'storageunavailable'] as readonly string[],
    /** Statuses of a PTZ command to a camera that another user holds. */
    busyStatuses: [409, 423] as readonly number[],
  },
} as const;
