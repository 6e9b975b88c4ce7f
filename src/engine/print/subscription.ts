import { stringify } from 'yaml'
import { z } from 'zod'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { durationText } from '../../lib/duration-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { gapText } from '../../lib/gap-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { policyInWords } from '../../lib/push-policy-words.ts'
import { age, isTerminal, lineOf, shortId } from '../../lib/short-text.ts'
import { shortJobId } from './job-words.ts'
import { attemptCount, eventFacts, keptFact, noAttempts } from './push-attempts.ts'
import { leftOutText, waitingText } from './push-backlog.ts'
import { pushState } from './push-state.ts'

/** As `PushPolicy`. */
const policySchema = z.object({
  attempts: z.number(),
  delay: z.number(),
  maxDelay: z.number(),
  lasts: z.object({ least: z.number(), most: z.number() }),
  timeout: z.number(),
  secrets: z.number(),
  rate: z.object({ count: z.number(), per: z.number() }).optional(),
})

/** `subscription-show`: the state of a push, its queue, then its last attempts, newest first. */
export function humanSubscription(result: Json, args: JsonObject = {}): string {
  const push: JsonObject = Object(result)
  const { name, topic, settings } = push
  return [
    paragraph('', `${paint('bold', String(name))}  push of the topic ${topic}: ${pushState(push)}`),
    '',
    ...factLines(factsOf(push, args)),
    ...(settings === undefined ? [] : ['', 'settings', indented(stringify(settings).trimEnd())]),
    '',
    attemptsOf(push, args),
    ...(push.sent === undefined ? [] : ['', 'sent', indented(String(push.sent))]),
    ...exchangesOf(push),
    ...(push.more === true
      ? [
          paragraph(
            '',
            `Older ones: ${commandText('subscription show', name, ...filtersIn(args), '--limit', 300)}`,
          ),
        ]
      : []),
    ...nextSteps(push),
  ].join('\n')
}

/** The filters that were given, as options. */
function filtersIn(args: JsonObject): unknown[] {
  return ['outcome', 'job', 'event', 'since', 'until'].flatMap((name) =>
    args[name] === undefined ? [] : [`--${name}`, args[name]],
  )
}

function factsOf(push: JsonObject, args: JsonObject): [title: string, text: string][] {
  const { url, match, source, dead, failingSince, errors, least = false } = push
  // `more` is about the attempts.
  const backlog = { ...push, more: least }
  const origin = source === 'routes.yaml' ? ' (defined in routes.yaml)' : ''
  return [
    ['to', `${url}${origin}`],
    ['filter', match === undefined ? 'none: all events of the topic' : matchInWords(Object(match))],
    ['failing since', sinceText(failingSince)],
    ['in part since', push.state === 'active' ? sinceText(pathGet(errors, 'since')) : ''],
    ...eventFacts(push, args),
    ...(args.event === undefined ? trafficFacts(push, args) : []),
    ...keptFact(push),
    ['next attempt', args.event === undefined ? nextOf(push) : ''],
    ...policyFacts(push.policy),
    ['to send', waitingText(backlog)],
    ['left out', leftOutText(backlog)],
    ['dead letters', String(dead)],
  ]
}

/** The retries, timeout and signature; none from an older daemon. */
function policyFacts(policy: Json | undefined): [title: string, text: string][] {
  const { data } = policySchema.safeParse(policy)
  return data ? Object.entries(policyInWords(data)) : []
}

/** The attempts of the range, and why they failed; nothing if an older daemon answers. */
function trafficFacts({ traffic, attempts }: JsonObject, args: JsonObject): [title: string, text: string][] {
  const shown = objectsIn(attempts)
  if (traffic === undefined) return []
  const { delivered, failed, causes } = Object(traffic)
  const success = shown.find(({ reason }) => reason === undefined)
  const last = success ? `; the last success ${age(success.at)} ago` : ''
  const all = Number(delivered) + Number(failed)
  const why = objectsIn(causes).map(({ text, count }): [string, string] => [
    '',
    `${count} of ${all}: ${text}`,
  ])
  return [['attempts', attemptCount(Object(traffic), args, last)], ...why]
}

function sinceText(at: unknown): string {
  return at === undefined ? '' : `${secondOf(at)} (${age(at)})`
}

function nextOf({ state, waiting, nextAt: at }: JsonObject): string {
  if (state === 'failing' && waiting === 0) return 'with its next event: nothing waits to be sent'
  if (typeof at !== 'number') return ''
  const left = at - Date.now()
  return left > 0 ? `${secondOf(at)} (in ${ageText(left)})` : 'now'
}

/** Maximum characters of an answer. */
const LONGEST_ANSWER = 120

/**
 * The attempts. An event on `gateway-message` has the id of its message. `about`: that message in a
 * few words, if it was asked for.
 */
function attemptsOf(push: JsonObject, args: JsonObject): string {
  const { attempts, topic, policy } = push
  const most = pathGet(policy, 'attempts')
  const rows = objectsIn(attempts).map(
    ({ at, event, attempt, ms, status, reason, answer, about, since, job, ...each }) => [
      ...(isTerminal() ? [age(at)] : []),
      secondOf(at).slice(0, 19),
      most === undefined || Number(attempt) > Number(most) ? attempt : `${attempt} of ${most}`,
      typeof ms === 'number' ? durationText(ms) : '',
      reason === undefined ? paint('green', String(status ?? 'ok')) : paint('red', String(reason)),
      followOf(each),
      lineOf(String(answer ?? ''), LONGEST_ANSWER),
      shortId(event),
      about ?? gapText(event) ?? '',
      job !== undefined ? shortJobId(job) : since === undefined ? '' : secondOf(since),
    ],
  )
  return rows.length === 0 ? noAttempts(push, args) : lineTable(columnsFor(topic), rows)
}

/** What follows a failed attempt. */
function followOf({ nextAt, held, isDead, withdrawn, deliveredAt }: JsonObject): string {
  if (typeof deliveredAt === 'number') return `delivered ${secondOf(deliveredAt).slice(11, 19)}`
  if (withdrawn !== undefined) return 'withdrawn'
  if (isDead === true) return 'dead letter'
  if (held === 'failing') return 'once it answers'
  if (typeof nextAt !== 'number') return ''
  const left = nextAt - Date.now()
  return left > 0 ? `in ${ageText(left)}` : 'now'
}

/** The requests and answers of attempts, where they are known. */
function exchangesOf({ attempts }: JsonObject): string[] {
  return objectsIn(attempts).flatMap(({ at, attempt, status, exchange }) => {
    const { request, response } = Object(exchange)
    if (request === undefined) return []
    const answer = response === undefined ? [] : [`answer ${status}`, indented(headersIn(response.headers))]
    const body = response?.body ? ['', indented(String(response.body))] : []
    return [
      '',
      `${paint('bold', `attempt ${attempt}`)}  ${secondOf(at)}`,
      `POST ${request.url}`,
      indented(headersIn(request.headers)),
      ...answer,
      ...body,
    ]
  })
}

function headersIn(headers: unknown): string {
  return Object.entries(Object(headers))
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function columnsFor(topic: Json | undefined): readonly Column[] {
  const isOfMessages = topic === 'gateway-message'
  return [
    ...(isTerminal() ? [{ title: 'age' }] : []),
    { title: 'time (UTC)', leftOut: 6 },
    { title: 'attempt', leftOut: 2 },
    { title: 'took', leftOut: 5 },
    { title: 'result', least: 16 },
    { title: 'next', leftOut: 1 },
    { title: 'it answered', least: 16, leftOut: 3 },
    { title: isOfMessages ? 'message' : 'event' },
    { title: 'about', least: 20, leftOut: 0 },
    { title: 'of the replay', leftOut: 4 },
  ]
}

function nextSteps({ name, topic, state, attempts, sent, waiting }: JsonObject): string[] {
  const failed = objectsIn(attempts).find(({ reason }) => reason !== undefined)
  const step = (command: string, what: string) => paragraph('  → ', `${command} ${what}`)
  const show = topic === 'gateway-message' ? 'message show' : `event show ${topic}`
  const isWaiting = Number(waiting) > 0 && sent === undefined
  return [
    ...(isWaiting ? [step(commandText('subscription waiting', name), 'lists the events that wait.')] : []),
    ...(failed && sent === undefined
      ? [step(commandText(show, failed.event), 'shows what the last failed attempt sent.')]
      : []),
    ...(failed && failed.exchange === undefined
      ? [
          step(
            commandText('subscription show', name, '--event', failed.event),
            'shows its requests and answers.',
          ),
        ]
      : []),
    ...replayStep(attempts),
    ...(state === 'paused' ? [step(commandText('subscription resume', name), 'ends the pause.')] : []),
    ...(state === 'failing' && waiting !== 0
      ? [step(commandText('subscription retry', name), 'tries now.')]
      : []),
    ...(state === 'disabled' ? [step(commandText('subscription resume', name), 'tries again.')] : []),
  ]
}

/** The command that shows the replay of the newest attempt that belongs to one. */
function replayStep(attempts: Json | undefined): string[] {
  const [replay] = objectsIn(attempts ?? null).flatMap(({ job }) => (job === undefined ? [] : [job]))
  if (replay === undefined) return []
  return [paragraph('  → ', `${commandText('job show', shortJobId(replay))} shows the replay.`)]
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
