import { TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'

/** How a call failed. */
export type FailureKind =
  /** The server answered, with an error or with something unusable. */
  | 'answered'
  /** The server forgot the session. */
  | 'session'
  /** The server did not get the call. */
  | 'refused'
  /** The server requires a login. */
  | 'login'
  /** The call may have run. */
  | 'lost'

export async function failureKind(error: unknown): Promise<FailureKind> {
  if (error instanceof TriviumError) return 'refused'
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = await import(
    '@modelcontextprotocol/client'
  )
  const cause = error instanceof Error ? error.cause : undefined
  const isOrHasCause = (kind: abstract new (...args: never[]) => Error) =>
    error instanceof kind || cause instanceof kind
  if (isOrHasCause(UnauthorizedError)) return 'login'
  const http = [error, cause].find((one) => one instanceof SdkHttpError)
  if (http) {
    if (http.status === 401) return 'login'
    // For a lost session, some servers answer 400 instead of the 404 of the protocol.
    if (http.status === 404 || (http.status === 400 && /session/i.test(http.message))) return 'session'
    return http.status < 500 ? 'refused' : 'lost'
  }
  if (isOrHasCause(ProtocolError)) return 'answered'
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return 'refused'
    // All other codes: the answer was unusable.
    return error.code === SdkErrorCode.ConnectionClosed ? 'lost' : 'answered'
  }
  return /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(String(pathGet(error, 'cause.code'))) ? 'refused' : 'lost'
}
