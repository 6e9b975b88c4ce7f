const MINUTE = 60_000
/** Ms after which somebody should know that something waits; replies may wait for a provider. */
const LONG = { dispatch: 5 * MINUTE, outbox: 5 * MINUTE }
/** Ms after which an attempt most likely hangs. */
const HANGS = 30 * MINUTE
/** So many events behind, a group's reader is most likely gone. */
const FAR = 1_000
/** Seconds from one point of the history to the next. */
const STEP = 5

const WAITS = { dispatch: 'has not been handled', outbox: 'has not been sent' }

/**
 * What is wrong or wants somebody, worst first: `{ key, kind, title, text, path, query }`, where `path` leads to the view in which
 * something can be done. `now` is what the stream tells, `at` Unix ms, `span(ms)` writes how long.
 */
export function troublesOf(now, points, at, span) {
  if (now === undefined) return []
  if (now.error) {
    return [
      bad(
        'store',
        'The store does not answer',
        `Nothing can be accepted until it does. ${now.error}`,
        'configuration',
      ),
    ]
  }
  const unrouted = Math.round(points.reduce((sum, point) => sum + point.unrouted * STEP, 0))
  const found = [
    now.draining &&
      warn(
        'draining',
        'The daemon is stopping',
        'It takes no more messages and finishes what runs.',
        'messages',
      ),
    !now.configuration.ok &&
      bad(
        'configuration',
        'The last reload failed',
        `The configuration of ${span(at - now.configuration.goodAt)} ago stays in force. ${firstLine(now.configuration.error)}`,
        'configuration',
      ),
    ...now.gateways
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) =>
        bad(`gateway ${name}`, `Gateway ${name} does not work`, detail ?? 'It does not say why.', [
          'gateways',
          name,
        ]),
      ),
    ...now.queues
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => bad(`queue ${name}`, `Queue ${name} cannot be reached`, detail, 'queues')),
    ...now.subscriptions.flatMap((each) => subscriptionTrouble(each)),
    now.deadLetters.total > 0 &&
      bad(
        'dead',
        `${count(now.deadLetters.total, 'dead letter')}`,
        'They used up their attempts. Nothing happens to them until somebody retries or drops them.',
        'dead-letters',
      ),
    ...lostIn(now.roads),
    ...(now.waiting ?? [])
      .filter(({ road, state, oldestAt }) => state === 'waiting' && at - oldestAt > LONG[road])
      .map(({ road, gateway, oldestAt }) =>
        warn(
          `waiting ${road} ${gateway}`,
          `Waiting for ${span(at - oldestAt)}`,
          `The oldest message of ${gateway || 'a gateway'} ${WAITS[road]}.`,
          'messages',
          { gateway, outcome: road === 'dispatch' ? 'waiting' : undefined },
        ),
      ),
    ...(now.waiting ?? [])
      .filter(({ road, state, oldestAt }) => state === 'retrying' && at - oldestAt > LONG[road])
      .map(({ road, gateway, count: many, nextAt }) =>
        warn(
          `retrying ${road} ${gateway}`,
          `${count(many, 'message')} of ${gateway || 'a gateway'} ${many === 1 ? 'is' : 'are'} tried again`,
          `An attempt failed. The next one is at ${new Date(nextAt).toLocaleTimeString('en-GB')}.`,
          'messages',
          { gateway, outcome: road === 'dispatch' ? 'retrying' : undefined },
        ),
      ),
    ...(now.running ?? [])
      .filter(({ oldestAt }) => at - oldestAt > HANGS)
      .map(({ road, gateway, oldestAt }) =>
        warn(
          `running ${road} ${gateway}`,
          `Running for ${span(at - oldestAt)}`,
          `An attempt for ${gateway || 'a gateway'} does not end.`,
          'messages',
          { gateway, outcome: road === 'dispatch' ? 'running' : undefined },
        ),
      ),
    now.approvals > 0 &&
      warn(
        'approvals',
        count(now.approvals, 'request'),
        'What they ask for waits until somebody approves or denies it.',
        'approvals',
      ),
    ...now.groups
      .filter(({ lag }) => lag >= FAR)
      .map(({ topic, group, lag }) =>
        warn(
          `group ${topic} ${group}`,
          `Group ${group} is ${lag.toLocaleString('en')} events behind`,
          `Nobody reads ${topic} fast enough for it, or at all.`,
          'queues',
        ),
      ),
    unrouted > 0 &&
      warn(
        'unrouted',
        `${count(unrouted, 'message')} without a route in the last hour`,
        'No route took them; they are kept, and no skill saw them.',
        'messages',
        {
          outcome: 'unrouted',
        },
      ),
  ].filter(Boolean)
  return found.toSorted((a, b) => Number(b.kind === 'bad') - Number(a.kind === 'bad'))
}

function subscriptionTrouble({ name, state, detail, waiting }) {
  const behind = waiting > 0 ? ` ${count(waiting, 'event')} ${waiting === 1 ? 'waits' : 'wait'}.` : ''
  if (state === 'active') return []
  if (state === 'paused')
    return [warn(`push ${name}`, `Push ${name} is paused`, `${capital(detail)}.${behind}`, 'queues')]
  const title = state === 'disabled' ? `Push ${name} is switched off` : `Push ${name} fails`
  return [bad(`push ${name}`, title, `${capital(detail)}.${behind}`, 'queues')]
}

function lostIn(roads) {
  const lost = Object.entries(roads.find(({ road }) => road === 'receive')?.lost ?? {})
  return lost
    .filter(([, many]) => many > 0)
    .map(([gateway, many]) =>
      bad(
        `lost ${gateway}`,
        `${count(many, 'message')} of ${gateway} were never received`,
        'Retention removed them before a receiver took them.',
        ['gateways', gateway],
      ),
    )
}

function bad(key, title, text, path, query) {
  return { key, kind: 'bad', title, text, path, query }
}

function warn(key, title, text, path, query) {
  return { ...bad(key, title, text, path, query), kind: 'warn' }
}

/** `1 dead letter`, `2 dead letters`. */
export function count(many, what) {
  return `${many.toLocaleString('en')} ${what}${many === 1 ? '' : 's'}`
}

function firstLine(text = '') {
  return text.split('\n')[0]
}

function capital(text = 'It does not say why') {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
