import { createHash } from 'node:crypto'

/**
 * How a repeated run treats a call made by an earlier run:
 *
 * - `free`: reads, or has no lasting effect. It is always made.
 * - `make`: creates something. The record answers the same call. If there is none, it answers the
 *   next one to the same place, because model texts and titles with times differ between runs.
 * - `set`: sets a value that the next call overwrites. The record answers the same calls up to the
 *   first difference.
 * - `switch`: turns something on or off. The record answers the same call.
 */
export type Kind = 'free' | 'make' | 'set' | 'switch'

/** Pseudo-method of calls to response URLs. */
export const RESPONSE_URL = 'response_url'

/** Reading methods, by the last word of their name. */
const READS =
  /\.(test|(list|get|lookup|search)\w*|\w*[iI]nfo|history|replies|members|identity|validate|\w+Logs)$|^(search\.\w+|users\.conversations|apps\.manifest\.export)$/

/**
 * Methods without a lasting effect: opening connections, renewing tokens, showing a temporary
 * status.
 */
const TRANSIENT =
  /^(oauth|openid|tooling|migration|rtm)\.|^apps\.connections\.open$|^conversations\.open$|^files\.getUpload|^slackLists\.download\.|\.setStatus$/

const MAKES =
  /^(chat\.(post\w+|meMessage|scheduleMessage|\w+Stream)|files\.completeUploadExternal|(bookmarks|calls|files\.remote|reminders)\.add|dialog\.open|functions\.complete\w+|response_url|views\.(open|push)|conversations\.(inviteShared|requestSharedInvite\.\w+))$|\.create$/

const SETS = /\.(update|publish|set\w*|rename|edit)$/

export function kindOf(method: string): Kind {
  if (READS.test(method) || TRANSIENT.test(method)) return 'free'
  if (MAKES.test(method)) return 'make'
  return SETS.test(method) ? 'set' : 'switch'
}

/** Arguments that identify the destination or object of a call; others are its content. */
const PLACES =
  /^(bookmark_id|call|canvas_id|channel|channel_id|channels|email|external_id|file|file_id|function_execution_id|id|list_id|message_ts|team_id|thread_ts|timestamp|trigger_id|interactivity_pointer|ts|user|user_id|user_ids|usergroup|users|view_id)$/

/**
 * Hashes of a call's content and destination, without the token, which may be renewed between runs.
 */
export function fingerprint(method: string, url: string, args: URLSearchParams) {
  const content = [...args].filter(([name]) => name !== 'token')
  const places = content.filter(([name]) => PLACES.test(name)).sort()
  const endpoint = method === RESPONSE_URL ? url : method
  return {
    said: hashOf(JSON.stringify([endpoint, content])),
    place: hashOf(JSON.stringify([endpoint, places])),
  }
}

/** Methods, and their errors which say that the call was already done. */
const DONE_ERRORS: readonly [RegExp, RegExp][] = [
  [/Stream$/, /^message_not_in_streaming_state$/],
  [/^chat\.delete$/, /^message_not_found$/],
  [/^chat\.deleteScheduledMessage$/, /^invalid_scheduled_message_id$/],
  [/^reactions\.remove$/, /^no_reaction$/],
  [/^pins\.remove$/, /^(no_pin|not_pinned)$/],
  [/^stars\.remove$/, /^not_starred$/],
  [/\.unarchive$/, /^not_archived$/],
  [/^conversations\.(kick|leave)$/, /^not_in_channel$/],
  [/^files\.(delete|remote\.remove)$/, /^(file_not_found|file_deleted)$/],
  [/^(bookmarks|reminders)\.\w+$/, /^not_found$/],
  [/^canvases\.delete$/, /^canvas_(not_found|deleted)$/],
  [/^views\.(open|push)$/, /^exchanged_trigger_id$/],
  [/^views\.update$/, /^hash_conflict$/],
  [/./, /^already_/],
]

/** Whether Slack refuses a call because it already happened. */
export function isDone(method: string, error: string): boolean {
  return DONE_ERRORS.some(([methods, errors]) => methods.test(method) && errors.test(error))
}

/** The SHA-256 of a text in hex, such as of a key that others chose, for keys in the store. */
export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
