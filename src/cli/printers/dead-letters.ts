import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { age, listTable, paint, shorten, shortId, table } from '../terminal.ts'
import { fields, timeOf } from './readable.ts'

/** Maximum characters of an error in a list. */
const LONGEST_ERROR = 120

/** `dead-letter-list`. */
export function humanLetters(result: Json): string {
  const rows = objectsIn(result).map((one) => {
    const { id, at, queue, group } = one
    return [shortId(id), age(at), queue, group, `${shorten(whyOf(one), LONGEST_ERROR)}${retryIn(one)}`]
  })
  if (rows.length === 0) return 'No dead letters.'
  return listTable(['id', 'age', 'queue', 'route', 'why'], rows)
}

/** `dead-letter-groups`. */
export function humanLetterGroups(result: Json): string {
  const rows = objectsIn(result).map((one) => {
    const { count, queue, group, first, last, common } = one
    return [count, queue, group, age(first), age(last), `${shorten(String(common), 80)}${retryIn(one)}`]
  })
  if (rows.length === 0) return 'No dead letters.'
  return table(['count', 'queue', 'route', 'first', 'last', 'why'], rows)
}

/** The last error, without the skill, as the route is beside it; and why it is dead, unless its attempts are used up. */
function whyOf(one: JsonObject): string {
  const error = lastError(one).replace(/^Skill \S+ failed: /, '')
  return one.reason === 'attempts' ? error : `${one.reason}: ${error}`
}

function retryIn({ retriedAt }: JsonObject): string {
  return retriedAt === undefined ? '' : ` (retried ${age(retriedAt)} ago, failed again)`
}

/** `dead-letter-show`: the error and the attempts of a dead letter, then its message. */
export function humanLetter(result: Json): string {
  const { id, at, queue, group, lane, reason, errors, message, data } = Object(result)
  const attempts = objectsIn(errors).map((error, index) => [
    index + 1,
    timeOf(error.at),
    error.code,
    error.message,
  ])
  const {
    text,
    html: _html,
    data: _data,
    attachments: _attachments,
    trace: _trace,
    receivedAt,
    ...head
  } = Object(message)
  return [
    `${paint('bold', String(id))}  ${queue}, route ${group}, dead since ${timeOf(at)} (${age(at)}): ${reason}`,
    `lane ${lane}`,
    '',
    table(['attempt', 'time', 'code', 'error'], attempts),
    ...(message === undefined
      ? []
      : ['', fields({ received: timeOf(receivedAt), ...head }), '', String(text ?? '')]),
    ...(message === undefined && data !== undefined ? ['', fields({ data })] : []),
    '',
    `To retry it: trivium dead-letter retry ${id}    To remove it: trivium dead-letter drop ${id}`,
  ].join('\n')
}

function lastError({ errors }: JsonObject): string {
  return String(pathGet(objectsIn(errors).at(-1), 'message') ?? '')
}
