import { RvmError, type RvmErrorCause } from '../../error';

/** The error of a camera that the service does not reach. */
export function cameraUnreachable(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    'The service cannot reach the camera now, although it may list it as online; try again in a while.',
    cause,
  );
}

/** The error of a camera that somebody else holds. */
export function cameraBusy(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'CAMERA_BUSY',
    'Somebody else is using the camera, and the service does not let it go; try again in a while.',
    cause,
  );
}
