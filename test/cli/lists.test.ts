import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { humanLetters } from '../../src/engine/print/dead-letters.ts'
import { humanGroup } from '../../src/engine/print/group.ts'
import { humanLetter } from '../../src/engine/print/letter.ts'
import { lettersByCause } from '../../src/engine/print/letter-causes.ts'
import { humanRefused } from '../../src/engine/print/refusals.ts'
import { wholeText } from '../../src/lib/printed.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const now = Date.now()
const show = (skill: string, result: Json, args: JsonObject = {}) =>
  wholeText(humanResult(skill, result, args, true))

/** `number`: of the order; also the age in minutes. */
const letter = (number: number, message: string): JsonObject => ({
  id: `letter-${number}`,
  at: now - number * MINUTE,
  queue: 'dispatch',
  group: 'orders',
  reason: 'attempts',
  errors: [{ at: now, code: 'skill_failed', message: `Skill confirm failed: ${message}` }],
  message: {
    id: `letter-${number}`,
    gateway: 'shop',
    conversation: `shop:#${number}`,
    from: { id: `ada${number}@mail.example` },
  },
  summary: `total: ${number}`,
})
const LETTERS = [
  letter(11, 'SKU 4 is unknown'),
  letter(12, 'customs answered 502'),
  letter(13, 'SKU 5 is unknown'),
]
const cause = (pattern: string, common: string, count: number): JsonObject => ({
  queue: 'dispatch',
  group: 'orders',
  code: 'skill_failed',
  count,
  pattern: `Skill confirm failed: ${pattern}`,
  common: `Skill confirm failed: ${common}`,
  first: now - 50 * MINUTE,
  last: now - 11 * MINUTE,
})

test('dead-letter retries without jobs names the list of messages that were retried without one', () => {
  assert.match(show('dead-letter-retries', []), /^No job .*\n`trivium message list --route ROUTE`/)
})

test('dead letters are grouped by cause, and each row has its conversation and sender', () => {
  const causes = [
    cause('SKU # is unknown', 'SKU … is unknown', 31),
    cause('customs answered 502', 'customs answered 502', 1),
  ]
  const text = wholeText(lettersByCause(LETTERS, causes) ?? '')
  const [first = '', second = ''] = text.split('\n\n')
  assert.match(
    first,
    /^31 × SKU … is unknown\n {2}route orders, skill_failed, 50 min to 11 min ago; 2 of them:/,
  )
  assert.match(first, / {2}letter-11\s+20\S+Z\s+shop:#11\s+ada11@mail.example\s+total: 11\n {2}letter-13\s/)
  assert.match(second, /^1 × customs answered 502\n.*letter-12/s)
  const early = { ...causes[0], failingSince: now - 3 * HOUR }
  assert.match(wholeText(lettersByCause(LETTERS, [early]) ?? ''), /skill_failed, 3 h to 11 min ago;/)
  assert.match(text, /\n\n.*`trivium dead-letter show ID`\n.*`trivium dead-letter retry ID`/)
})

test('dead letters of a filter have the command that retries all of them', () => {
  const causes = [cause('SKU # is unknown', 'SKU … is unknown', 31)]
  const filter = { group: 'orders', error: 'is unknown', limit: 50 }
  const text = wholeText(lettersByCause(LETTERS, causes, filter) ?? '')
  assert.match(text, /`trivium dead-letter retry --all --route orders --error 'is unknown'`$/)
})

test('a dead letter that was retried in vain is as old as its first failure, and shows that attempt', () => {
  const error = (age: number) => [{ at: now - age, code: 'outbox_permanent', message: 'no such mailbox' }]
  const retried: JsonObject = {
    ...letter(1, 'no'),
    queue: 'outbox',
    group: 'support',
    at: now - 4 * MINUTE,
    errors: error(4 * MINUTE),
    retriedAt: now - 4 * MINUTE,
    firstAt: now - 8 * HOUR,
    firstErrors: error(8 * HOUR),
  }
  assert.match(wholeText(humanLetters([retried])), /letter-1\t20\S+Z\t.*\(retried 4 min ago, failed again\)/)
  const text = show('dead-letter-show', retried)
  assert.match(text, /^dead since +20.* UTC \(8 h ago\)\nretried +20.* UTC \(4 min ago\), failed again$/m)
  assert.match(text, /no such mailbox.*retried.*no such mailbox/s)
  const times = { first: now - 8 * HOUR, last: now - 4 * MINUTE, retriedAt: now - 4 * MINUTE }
  const place = { queue: 'outbox', group: 'support', pattern: 'no such mailbox' }
  const byCause = lettersByCause([retried], [{ ...cause('', 'no such mailbox', 1), ...place, ...times }])
  assert.match(
    wholeText(byCause ?? ''),
    /outbox support, skill_failed, for 8 h, retried 4 min ago, failed again:/,
  )
})

test('in a pipe each dead letter has its error, conversation and sender in one line', () => {
  assert.match(
    wholeText(humanLetters(LETTERS)),
    /letter-11\s+20\S+Z\s+dispatch\s+orders\s+SKU 4 is unknown\s+shop:#11\s+ada11@mail.example\s+total: 11\n/,
  )
})

test('a dead letter names its route only if it is one of dispatch', () => {
  const shown = (queue: string, group: string) =>
    show('dead-letter-show', { ...letter(1, 'no'), queue, group })
  assert.match(shown('dispatch', 'orders'), /^failed in +route orders/m)
  assert.match(shown('outbox', 'support'), /^failed in +gateway support/m)
})

test('a dead letter says why in a sentence, and how many others have its error', () => {
  const error = { at: now, code: 'skill_failed', message: 'Skill confirm failed: SKU 7 is unknown' }
  const one: JsonObject = { ...letter(1, 'no'), reason: 'attempts', errors: [error, error] }
  const same = { ...cause('Skill confirm failed: SKU # is unknown', 'SKU … is unknown', 31), group: 'orders' }
  const shownMessage = {
    events: [
      { group: 'crm', state: 'delivered' },
      { group: 'audit', state: 'read' },
      { group: 'search', state: 'waiting' },
    ],
    history: [{ road: 'outbox', what: 'sent', at: now }],
  }
  const text = show('dead-letter-show', { ...one, cause: same, shownMessage })
  assert.match(text, /^why +gave up after 2 attempts: SKU 7 is unknown$/m)
  assert.match(text, /^failed in +route orders, skill confirm$/m)
  assert.match(text, /^same error +30 other dead letters/m)
  assert.match(text, /^delivered +to crm, read by audit, 1 reply sent$/m)
  assert.match(
    text,
    /^To retry all 31: `trivium dead-letter retry --all --route orders --pattern '.*SKU # is unknown'`$/m,
  )
  const permanent = show('dead-letter-show', { ...one, reason: 'permanent', errors: [error] })
  assert.match(permanent, /^why +the error is permanent, so it was not tried again: /m)
})

test('conversations in which somebody waits come first, with names instead of ids', () => {
  const conversation = { gateway: 'team', messages: 1, text: 'hello', conversation: 'c1', at: now }
  const text = show('conversation-list', {
    conversations: [
      {
        ...conversation,
        from: { id: 'U02INGRID', name: 'Ingrid Aune', address: 'U02INGRID' },
        outcome: 'done',
      },
      { ...conversation, from: { id: 'U02SVEN', name: 'Sven Lie' }, waitingSince: now - 5 * HOUR },
      { ...conversation, from: { id: 'U1', name: 'Ada', address: 'ada@mail.example' }, outcome: 'done' },
    ],
    next: 'older',
    moreWaiting: true,
    waiting: { count: 9, more: false },
  })
  assert.match(
    text,
    /state.*\n20\S+Z\s+Sven Lie\s+waits\s.*\n.*Ingrid Aune\s+done\s.*\n.*ada@mail.example\s+done\s/,
  )
  assert.match(text, /^9 wait, 1 shown: `trivium conversation list --unanswered`$/m)
})

test('a list of the waiting conversations says with which limit it shows all, or more of them', () => {
  const conversations = [
    { gateway: 'team', conversation: 'c1', at: now, waitingSince: now, from: { id: 'a' } },
  ]
  const list = (more: boolean) =>
    show(
      'conversation-list',
      { conversations, moreWaiting: true, waiting: { count: 9, more } },
      { unanswered: true },
    )
  assert.match(
    list(false),
    /^9 wait, 1 shown\. All: `trivium conversation list --all --unanswered --limit 9`$/m,
  )
  assert.match(
    list(true),
    /^At least 9 wait, 1 shown\. More: `trivium conversation list --all --unanswered --limit 9`$/m,
  )
})

test('a conversation in which somebody waits says why: an approval, or an answer that was not delivered', () => {
  const row = {
    gateway: 'team',
    messages: 1,
    text: 'hello',
    conversation: 'c1',
    at: now,
    from: { id: 'ada' },
  }
  const waits = { ...row, waitingSince: now - 3 * HOUR }
  const text = show('conversation-list', {
    conversations: [
      { ...waits, outcome: 'approval' },
      { ...waits, outcome: 'done', undelivered: { at: now }, heldBy: { by: 'control-token:Ada' } },
      { ...waits, outcome: 'done' },
      { ...waits, outcome: 'running' },
    ],
  })
  assert.match(text, /\tada\trunning\t/)
  assert.match(
    text,
    /\n20\S+Z\s+ada\s+waits\s.*\n20\S+Z\s.*\snot delivered, Ada has it\s.*\n20\S+Z\s.*\sapproval\s/,
  )
})

test('a search for a number without a match says how to search in longer numbers', () => {
  const empty = { messages: [] }
  const hint = `No messages match --search 4711. In longer numbers: --search '"4711"'`
  assert.equal(show('message-search', empty, { search: '4711' }), hint)
  for (const search of ['from:ada', 'h.olsen', '"4711"'])
    assert.doesNotMatch(show('message-search', empty, { search }), /In longer numbers/)
})

test('a list that was not searched to the end says how far it was searched', () => {
  const searchedTo = Date.UTC(2026, 10, 29, 3)
  const text = show('conversation-list', { conversations: [], next: 'older', searchedTo })
  assert.equal(
    text,
    'No conversations since 2026-11-29 03:00 UTC.\nOlder ones: `trivium conversation list --all --before older`',
  )
  assert.equal(show('conversation-list', { conversations: [] }), 'No conversations.')
})

test('schedules show their last run; one that failed comes first', () => {
  const schedule = { skill: 'report', cron: '0 23 * * *', timezone: 'UTC', args: {}, source: 'routes.yaml' }
  const planned = now - 3 * HOUR
  const lastRun = { planned, startedAt: planned + 47 * MINUTE, endedAt: now - 2 * HOUR, outcome: 'failed' }
  const text = show('schedule-list', [
    { ...schedule, id: 'new', name: 'new' },
    {
      ...schedule,
      id: 'good',
      name: 'good',
      lastRun: { ...lastRun, startedAt: planned, outcome: 'done' },
    },
    { ...schedule, id: 'late', name: 'daily', lastRun },
    {
      ...schedule,
      id: 'unplanned',
      lastRun: { startedAt: planned, endedAt: now - 2 * HOUR, outcome: 'done' },
    },
  ])
  assert.match(
    text,
    /late\s+daily\s.*20\S+Z failed, 47 min late\s.*\nnew\s.*none known\s.*\ngood\s.*20\S+Z done\s.*\nunplanned\s.*20\S+Z done\s/,
  )
})

test('schedule show has no raw keys, and each run with its planned time', () => {
  const planned = now - 3 * HOUR
  const text = show('schedule-show', {
    ...{ id: 'report', name: 'report', skill: 'report', cron: '0 23 * * *', timezone: 'UTC' },
    ...{
      args: { folder: 'inbox', days: 7 },
      overlap: 'queue',
      misfire: 'once',
      channel: 'routes.yaml',
      source: 'routes.yaml',
    },
    ...{ created: '2026-11-20T00:00:00.000Z', next: now + HOUR },
    runs: [
      {
        id: '3fa10c22',
        ...{ planned, startedAt: planned + 47 * MINUTE, endedAt: planned + 49 * MINUTE, outcome: 'done' },
        lateBecause: { cause: 'daemon_start', until: planned + 47 * MINUTE },
      },
      {
        ...{ id: '8bb1d0e4', startedAt: planned - HOUR, endedAt: planned - HOUR + 4_000, outcome: 'failed' },
        ...{ manual: true, by: 'control-token:Ingrid Aune', error: 'no disk' },
      },
    ],
  })
  assert.match(
    text,
    /^report {2}runs the skill report\n\nwhen\s+daily at 23:00, UTC \(0 23 \* \* \*\)\nnext\s+20.*:\d\d:\d\d UTC\narguments\s+folder: inbox, days: 7\n/,
  )
  assert.match(text, /\nset in\s+routes\.yaml\ncreated\s+2026-11-20 00:00:00 UTC\n/)
  assert.match(text, /\noverlap\s+a run .*\nmissed\s+runs .* by one run\n/)
  assert.match(
    text,
    /\nid\s+planned\s+began\s+by\s+late\s+took\s+outcome\s+error or result\n3fa10c22\s+20.* UTC\s+20.* UTC\s+47 min late: the daemon started at 20.* UTC\s+2 min\s+done/,
  )
  assert.match(text, /\n8bb1d0e4\t-?\t20.* UTC\tIngrid Aune\t-?\t4 s\tfailed\tno disk\n/)
  assert.match(text, /`trivium schedule show report --run ID`/)
  assert.doesNotMatch(text, /misfire|channel/)
})

test('schedule show has what the last run returned, or its error', () => {
  const created = '2026-11-20T00:00:00.000Z'
  const schedule = { id: 'report', name: 'report', skill: 'report', every: HOUR, created }
  const run = { planned: now, startedAt: now, endedAt: now }
  const shown = (last: JsonObject) => show('schedule-show', { ...schedule, runs: [last] })
  assert.match(
    shown({ ...run, outcome: 'done', result: '3 orders' }),
    /\n\nThe last run returned:\n3 orders\n/,
  )
  assert.match(shown({ ...run, outcome: 'failed', error: 'no disk' }), /\n\nThe last run failed:\nno disk\n/)
})

test('schedule show --run has one run, with its whole error and its dead letter', () => {
  const created = '2026-11-20T00:00:00.000Z'
  const error = 'no disk '.repeat(40).trim()
  const times = { startedAt: Date.parse('2026-11-29T10:00:00Z'), endedAt: Date.parse('2026-11-29T10:00:04Z') }
  const run = {
    id: '8bb1d0e4',
    ...times,
    outcome: 'failed',
    error,
    manual: true,
    by: 'ada',
    letter: 'report:x',
  }
  const schedule = { id: 'report', name: 'report', skill: 'report', every: HOUR, created, runs: [run] }
  const text = wholeText(humanResult('schedule-show', schedule, { id: 'report', run: '8bb1d0e4' }, true))
  assert.match(
    text,
    /^run +8bb1d0e4\nschedule +report\nskill +report\nstarted by +ada\nbegan +2026-11-29 10:00:00 UTC\n/,
  )
  assert.match(text, /\nended +2026-11-29 10:00:04 UTC, after 4 s\noutcome +failed\n\nIts error:\n/)
  assert.ok(text.includes(error))
  assert.match(text, /`trivium dead-letter show report:x`$/)
})

test('a job is by a person, as in the other lists', () => {
  const job = { id: 'j1', kind: 'replay', state: 'done', startedAt: now, by: 'control-token:op21' }
  assert.match(show('job-show', job), / ago\) by op21$/m)
})

test('long jobs are described in words, with what they did', () => {
  const job = { state: 'done', startedAt: now - HOUR, endedAt: now, by: 'ann' }
  const target = { topic: 'orders', group: 'erp', subscription: 'erp', since: '2026-11-28T14:00:00.000Z' }
  const jobs = [
    { ...job, id: 'replay-1', kind: 'replay', done: 9, total: 9, target, result: { events: 9, filtered: 2 } },
    {
      ...job,
      id: 'dead-1',
      kind: 'dead-letters',
      done: 3,
      total: 3,
      target: { do: 'retry', group: 'orders', text: '502' },
      result: { count: 3 },
    },
    { ...job, id: 'erase-1', kind: 'person-erase', done: 1, total: 19, target: {}, state: 'running' },
    {
      ...job,
      id: 'erase-2',
      kind: 'person-erase',
      done: 19,
      total: 19,
      target: {},
      result: { records: 17, needsCompact: true },
    },
  ]
  const text = show('job-list', jobs)
  assert.match(
    text,
    /replay-1\s.*done\s+9 events\s.*→ erp: replay orders from 2026-11-28 14:00 UTC\s+9 of 11 events handed to the push; left out: 2 by its filter/,
  )
  assert.match(text, /done\s+3 dead letters\s.*retry orders: 502\s+3 dead letters retried/)
  assert.match(text, /erase-1\s.*running\s+1 of 19 places\s.*erase a person/)
  const replayed = { ...jobs.at(0), outcomes: { delivered: 5, waiting: 0, dead: 2 } }
  assert.match(show('job-list', [replayed]), /\t2 dead, 5 delivered$/)
  assert.match(
    show('job-show', replayed),
    /`trivium dead-letter list --queue push\/erp` lists the dead events/,
  )
  const erased = show('job-show', jobs.at(3) ?? null)
  assert.match(
    erased,
    /^erase-2 {2}erase the data about a person\n\nstate\s+done\n.*\nresult\s+17 records erased\n/,
  )
  assert.match(erased, /stop the daemon and run `trivium compact`/)
  assert.doesNotMatch(erased, /needsCompact/)
  assert.match(show('job-show', jobs.at(2) ?? null), /`trivium job cancel erase-1` ends it/)
})

test('the proof of an erasure counts each kind of record, and what was open', () => {
  const job = {
    id: 'erase-1',
    kind: 'person-erase',
    state: 'done',
    by: 'ops',
    startedAt: now,
    updatedAt: now,
  }
  const result = {
    records: 9,
    counts: { jobs: 2, records: 5, messages: 2, files: 0 },
    kinds: { jobs: { 'results of finished work': 2 }, records: { approvals: 2, 'planned messages': 3 } },
    open: { 'planned messages': 3, approvals: 1 },
  }
  const shown = show('job-show', { ...job, target: {}, done: 20, total: 20, result })
  assert.match(
    shown,
    /jobs: results of finished work\s+2\nrecords\s+5\n- approvals\s+2\n- planned messages\s+3\nmessages\s+2\n/,
  )
  assert.match(
    shown,
    /\nOpen until then, and erased too: 1 open approval, 3 planned messages\.\nTrivium cannot/,
  )
  const openItems = [{ kind: 'approvals', title: 'Refund 1240.00 EUR · order 4890', id: 'a' }]
  const mentions = { names: ['ada@example.com'], messages: 2, done: true }
  const dry = show('person-erase', { confirm: false, total: 9, ...result, openItems, mentions })
  assert.match(
    dry,
    /\n1 open approval goes too: Refund 1240\.00 EUR · order 4890\n3 planned messages go too\n/,
  )
  assert.match(dry, /\n2 messages of others have ada@example\.com in the text\./)
})

test('lists mark tests', () => {
  const message = { id: 'm', at: now, gateway: 'shop', outcome: 'done', summary: 'an order' }
  assert.match(show('message-search', { messages: [{ ...message, test: true }] }), /\[test\] an order/)
  assert.doesNotMatch(show('message-search', { messages: [message] }), /test/)
  const conversations = [{ ...message, conversation: 'c', messages: 1, test: true }]
  assert.match(show('conversation-list', { conversations }), /\[test\] an order/)
  const letter = { id: 'm', at: now, queue: 'dispatch', group: 'orders', errors: [], summary: 'an order' }
  const marked = { ...letter, message: { data: { replyTarget: { test: true } } } }
  assert.match(show('dead-letter-list', [marked]), /\[test\] an order/)
  assert.doesNotMatch(show('dead-letter-list', [letter]), /test/)
})

test('group show recommends reading before skipping', () => {
  const group = {
    group: 'search',
    topic: 'orders',
    state: 'stalled',
    lag: 9,
    again: 0,
    behind: 9,
    oldestId: 'e1',
    oldestAt: now,
    pending: 0,
    waiting: 0,
  }
  const text = humanGroup([{ ...group, retention: {}, history: [] }])
  assert.match(
    text,
    /event show orders e1` .*event wait orders --queue search --no-ack .*group skip .*--dry-run` /s,
  )
})

test('push subscriptions show their filter and the failed share, the worst first', () => {
  const push = { ok: true, state: 'active', queued: 0, unread: 0, dead: 0, topic: 'gateway-message' }
  const text = show('subscription-list', [
    { ...push, name: 'erp' },
    { ...push, name: 'analytics', match: { gateway: ['shop', 'returns'] }, errors: { failed: 20, of: 50 } },
    {
      ...push,
      name: 'down',
      ok: false,
      state: 'failing',
      failingSince: now - HOUR,
      detail: 'it answered 503',
    },
  ])
  assert.match(
    text,
    /\ndown\s+failing for 60 min: it answered 503\s.*\nanalytics\s+fails 20 of 50\s.*gateway: shop or returns\s.*\nerp\s+active\s.*none: all events/,
  )
})

test('gateways that do not work come first', () => {
  const text = show('gateway-list', [
    { name: 'chat', transport: 'websocket', ok: true },
    { name: 'shop', transport: 'webhook', ok: true, refuses: 'every delivery' },
    { name: 'mail', transport: 'email', ok: false, detail: 'no route to host' },
  ])
  assert.match(text, /\nmail\s.*FAILING: no route to host\nshop\s.*refuses every delivery\nchat\s/)
})

test('refusals of a sender with one reason are one row, unless each is asked for', () => {
  const refusal = {
    gateway: 'shop',
    from: '10.0.0.1',
    reason: 'signature_invalid',
    at: now,
    body: '{"id":1}',
  }
  const answer = {
    daemon: 'vm:1',
    groups: [],
    refusals: [
      { ...refusal, id: 'r1' },
      { ...refusal, id: 'r2' },
    ],
  }
  assert.match(
    wholeText(humanRefused(answer, { isEach: false, isScreen: false })),
    /\n2\t\d{4}-\S+Z\tshop\t10\.0\.0\.1\t.*\n\(/,
  )
  assert.match(
    wholeText(humanRefused(answer, { isEach: true, isScreen: false })),
    /^id\ttime\t.*\nr1\t\d{4}-\S+Z\t.*\nr2\t/,
  )
  const unknownPath = { ...answer, refusals: [{ at: now, gateway: '-', reason: 'not_found' }] }
  assert.doesNotMatch(wholeText(humanRefused(unknownPath, { isEach: true, isScreen: false })), /undefined/)
})

test('messages that wait show their route and what they wait for', () => {
  const message = { at: now, gateway: 'shop', from: { id: 'ada@mail.example' }, text: 'hello' }
  const paused = { route: 'reviews', pausedBy: [{ kind: 'route', name: 'reviews' }] }
  const text = show('message-search', {
    messages: [
      { ...message, id: 'm1', outcome: 'waiting', attempt: paused },
      {
        ...message,
        id: 'm2',
        outcome: 'waiting',
        attempt: { pausedBy: [{ kind: 'conversation', name: 'c' }] },
      },
      { ...message, id: 'm3', outcome: 'running', attempt: { route: 'ledger', since: now - 20 * MINUTE } },
      { ...message, id: 'm4', outcome: 'retrying', attempt: { route: 'labels', nextAt: now + 5.4 * MINUTE } },
      { ...message, id: 'm5', outcome: 'done' },
    ],
  })
  assert.match(text, /m1\s.*paused: route reviews\s+reviews\s+hello\t\n/)
  assert.match(text, /m2\s.*paused: taken over\s.*\nm3\s.*running since \S+Z\s+ledger\s.*\n/)
  assert.match(text, /m4\t.*retrying at \S+Z\tlabels\t.*\nm5\t.*done\t/)
})

test('a dead reply shows what was to be sent, to whom and in which conversation', () => {
  const message = { id: 'm1', gateway: 'team', conversation: 'hall-b', from: { name: 'Sven Lie', id: 'U02' } }
  const letter = { id: 'd1', at: 1, lane: 'l', queue: 'outbox', reason: 'permanent', errors: [] }
  const answer = { ...letter, group: 'team', data: { text: 'Noted.', by: 'route team', queuedAt: 1 } }
  const shown = humanLetter({ ...answer, message: { ...message, text: 'please put the scale on the list' } })
  assert.match(shown, /^to\s+Sven Lie$/m)
  assert.match(shown, /^answers\s+please put the scale on the list \(m1\)$/m)
  assert.match(shown, /\n\nNoted\.\n\n.*`trivium conversation show team hall-b`/)
  const to = 'halldis@example.net'
  const mail = { ...letter, group: 'support', data: { text: 'Found.', to, conversation: to } }
  const mayAnswer = { ...message, gateway: 'support', conversation: 'mail-229', text: 'Where is it?' }
  const sent = humanLetter({ ...mail, mayAnswer })
  assert.match(
    sent,
    /^to\s+halldis@example\.net\nlast message\s+Where is it\? \(m1\)\nconversation\s+mail-229$/m,
  )
  assert.match(sent, /\n\nFound\.\n\n.*`trivium conversation show support mail-229`/)
  assert.doesNotMatch(humanLetter(mail), /^conversation|conversation show/m)
})

test('a dead reply says how to write to another address, and a dead message does not', () => {
  const letter = { id: 'd1', at: 1, lane: 'l', group: 'support', reason: 'permanent', errors: [] }
  assert.match(
    humanLetter({ ...letter, queue: 'outbox' }),
    /`trivium gateway send TEXT --gateway support --to ADDRESS`, if the gateway is `open: true`/,
  )
  assert.doesNotMatch(humanLetter({ ...letter, queue: 'dispatch' }), /gateway send/)
})
