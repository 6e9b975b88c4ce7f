import { createHash } from 'node:crypto'

/**
 * What a repeated run does with a call that an earlier run made.
 * `free`: it reads, or nobody sees it happen twice; it is sent every time.
 * `make`: each call makes something new. The record answers the same call, else the next one to the same place, as texts of
 * models and titles with a time differ from run to run.
 * `set`: it sets what the next call sets again. The record answers the same calls up to the first that differs.
 * `switch`: it turns something on or off. The record answers the same call.
 */
export type Kind = 'free' | 'make' | 'set' | 'switch'

/** Calls by which apps answer clicks and commands have no method of the Web API. */
export const RESPONSE_URL = 'response_url'

/** By the last word of a method. */
const READS =
  /\.(test|(list|get|lookup|search)\w*|\w*[iI]nfo|history|replies|members|identity|validate|\w+Logs)$|^(search\.\w+|users\.conversations|apps\.manifest\.export)$/

/** They open a way, renew a token or show for a minute that somebody works, and change nothing that stays. */
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

/** Arguments that say where a call goes or what it changes; all others say what is put there. */
const PLACES =
  /^(bookmark_id|call|canvas_id|channel|channel_id|channels|email|external_id|file|file_id|function_execution_id|id|list_id|message_ts|team_id|thread_ts|timestamp|trigger_id|interactivity_pointer|ts|user|user_id|user_ids|usergroup|users|view_id)$/

/** A call by what it says, and by where that goes: both as hashes. A token may have been renewed between two runs. */
export function fingerprint(method: string, url: string, asked: URLSearchParams) {
  const said = [...asked].filter(([name]) => name !== 'token')
  const places = said.filter(([name]) => PLACES.test(name)).sort()
  const at = method === RESPONSE_URL ? url : method
  return { said: hashOf(JSON.stringify([at, said])), place: hashOf(JSON.stringify([at, places])) }
}

/** What Slack says to a call that did its work before its answer was lost. */
const DONE: readonly [RegExp, RegExp][] = [
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

/** Whether Slack refuses a call since it happened before. */
export function isDone(method: string, error: string): boolean {
  return DONE.some(([methods, errors]) => methods.test(method) && errors.test(error))
}

/** A key that somebody chose, as part of a name on the store. */
export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
