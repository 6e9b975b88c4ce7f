import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '../../../src/core/json.ts'
import type { SlackServer } from '../../fixtures/slack-server.ts'
import { type Deliver, trigger, who } from './bolt-harness.ts'
import { callback, slashCommand } from './harness.ts'

/** The names for which an app has listeners, and texts to send to it. */
export type Names = Record<
  'commands' | 'shortcuts' | 'views' | 'actions' | 'functions' | 'options',
  string[]
> & {
  texts: string[]
}

const CALL =
  /\.(message|command|action|shortcut|view|options|function)\(\s*(?:\{[^}]*?(?:callback_id|action_id):\s*)?(['"])([^'"]+)\2/g
const LISTS: Record<string, keyof Names> = {
  message: 'texts',
  command: 'commands',
  action: 'actions',
  shortcut: 'shortcuts',
  view: 'views',
  options: 'options',
  function: 'functions',
}

/** The names that the source of an app has in it. */
export function namesIn(source: string): Names {
  const names: Names = {
    commands: [],
    shortcuts: [],
    views: [],
    actions: [],
    functions: [],
    options: [],
    texts: [],
  }
  for (const [, kind = '', , name = ''] of source.matchAll(CALL)) names[LISTS[kind] ?? 'texts'].push(name)
  return names
}

/** Time in which Slack expects an acknowledgement. */
const ACK_LIMIT_MS = 3_000

type Delivery = [type: 'events_api' | 'interactive' | 'slash_commands', payload: JsonObject]

/**
 * One payload of each kind that Slack sends, for each name for which the app has a listener, and,
 * except for options, for a name for which it has none.
 */
export function battery(slack: SlackServer, names: Names): Delivery[] {
  const interaction = (payload: JsonObject): Delivery => [
    'interactive',
    { ...who, trigger_id: trigger(), api_app_id: 'A0APP', ...payload },
  ]
  const ts = slack.nextTs
  const event = (fields: JsonObject): Delivery => {
    const payload = callback(fields)
    const isPost = fields.type === undefined || fields.type === 'app_mention'
    // Other events lack the default fields of messages.
    return ['events_api', isPost ? payload : { ...payload, event: { event_ts: ts(), ...fields } }]
  }
  const unknown = 'nobody_listens'
  const url = () => slack.apiUrl.replace('/api/', `/respond/${trigger()}`)
  const values = { sample_block_id: { sample_input_id: { type: 'plain_text_input', value: 'text' } } }
  const view = (callback_id: string): JsonObject => ({
    id: 'V1',
    hash: 'h',
    type: 'modal',
    callback_id,
    private_metadata: '{"channel":"C0GEN"}',
    team_id: 'T0TEAM',
    state: { values },
    app_id: 'A0APP',
    bot_id: 'B0BOT',
    blocks: [],
    title: { type: 'plain_text', text: 'T' },
  })
  const element = (action_id: string, fields: JsonObject): JsonObject => ({
    action_id,
    block_id: 'b',
    action_ts: '1',
    ...fields,
  })
  const option = { text: { type: 'plain_text', text: 'One' }, value: '1' }
  const elements: JsonObject[] = [
    { type: 'button', value: 'v', text: { type: 'plain_text', text: 'B' } },
    { type: 'static_select', selected_option: option },
    { type: 'multi_users_select', selected_users: ['U1ANN', 'U2BOB'] },
    { type: 'overflow', selected_option: option },
    { type: 'datepicker', selected_date: '2026-11-27' },
    { type: 'checkboxes', selected_options: [option] },
    { type: 'plain_text_input', value: 'typed' },
  ]
  const inMessage = {
    container: { type: 'message', message_ts: '1.1', channel_id: 'C0GEN', is_ephemeral: false },
    channel: { id: 'C0GEN', name: 'general' },
    message: { type: 'message', user: 'U0BOT', ts: '1.1', text: 'hi' },
  }
  const run = (callback_id: string): JsonObject => ({
    type: 'function_executed',
    function: { id: 'Fn1', callback_id },
    function_execution_id: 'Fx1',
    workflow_execution_id: 'Wx1',
    bot_access_token: 'xwfp-test',
    inputs: {
      user_id: 'U1ANN',
      user_context: { id: 'U1ANN' },
      query: 'a',
      manager: 'U2BOB',
      employee: 'U1ANN',
    },
  })
  const inFunction = {
    function_data: { execution_id: 'Fx1', function: { callback_id: 'f' }, inputs: { user_id: 'U1ANN' } },
    bot_access_token: 'xwfp-test',
  }
  const texts = [...names.texts, 'hi', 'hello', 'what else', 'knock knock', 'who is there', ':wave:']
  const thread = ts()
  const assistant = {
    user_id: 'U1ANN',
    context: { channel_id: 'C0GEN', team_id: 'T0TEAM' },
    channel_id: 'D1ANN',
    thread_ts: thread,
  }
  return [
    ...texts.map((text) => event({ text, ts: ts() })),
    ...texts.slice(0, 2).map((text) => event({ text, ts: ts(), thread_ts: '1.1' })),
    event({ text: 'hello', ts: ts(), channel: 'D1ANN', channel_type: 'im' }),
    event({ text: 'hello', ts: ts(), subtype: 'bot_message', bot_id: 'B0OTHER' }),
    event({ text: '<@U0BOT> hello', ts: thread }),
    event({ type: 'app_mention', text: '<@U0BOT> hello', ts: thread }),
    event({ type: 'app_mention', text: '<@U0BOT> hello', ts: ts(), thread_ts: '1.1' }),
    event({ type: 'app_home_opened', user: 'U1ANN', channel: 'D1ANN', tab: 'home' }),
    event({ type: 'team_join', user: { id: 'U9NEW', team_id: 'T0TEAM' } }),
    ...['eyes', 'flag-de', 'calendar'].map((reaction) =>
      event({
        type: 'reaction_added',
        user: 'U1ANN',
        reaction,
        item: { type: 'message', channel: 'C0GEN', ts: '1.1' },
        item_user: 'U2BOB',
      }),
    ),
    event({
      type: 'message_metadata_posted',
      channel_id: 'C0GEN',
      message_ts: '1.1',
      app_id: 'A0APP',
      bot_id: 'B0BOT',
      metadata: { event_type: 'my_event', event_payload: { key: 'value' } },
    }),
    event({
      type: 'entity_details_requested',
      trigger_id: trigger(),
      entity_url: 'https://example.com/1',
      external_ref: { id: '1' },
      link: { url: 'https://example.com/1' },
    }),
    event({ type: 'assistant_thread_started', assistant_thread: assistant }),
    event({ type: 'assistant_thread_context_changed', assistant_thread: assistant }),
    event({ text: 'Summarize', ts: ts(), thread_ts: thread, channel: 'D1ANN', channel_type: 'im' }),
    ...[...names.functions, unknown].map((name) => event(run(name))),
    ...[...names.commands, '/nobody-listens'].flatMap((command): Delivery[] =>
      ['', 'with text'].map((text) => ['slash_commands', slashCommand(slack, { command, text })]),
    ),
    ...[...names.shortcuts, unknown].flatMap((callback_id) => [
      interaction({ type: 'shortcut', callback_id, action_ts: '1' }),
      interaction({
        type: 'message_action',
        callback_id,
        action_ts: '1',
        ...inMessage,
        response_url: url(),
        message_ts: '1.1',
      }),
    ]),
    ...[...names.actions, unknown].flatMap((name) => [
      ...elements.map((fields) =>
        interaction({
          type: 'block_actions',
          ...inMessage,
          response_url: url(),
          actions: [element(name, fields)],
          state: { values },
        }),
      ),
      interaction({
        type: 'block_actions',
        view: view('sample_view_id'),
        container: { type: 'view', view_id: 'V1' },
        actions: [element(name, elements[0] ?? {})],
      }),
      interaction({
        type: 'block_actions',
        ...inMessage,
        ...inFunction,
        actions: [element(name, elements[0] ?? {})],
      }),
      interaction({
        type: 'interactive_message',
        callback_id: name,
        channel: inMessage.channel,
        response_url: url(),
        action_ts: '1',
        actions: [{ name, type: 'button', value: 'v' }],
      }),
      interaction({
        type: 'dialog_submission',
        callback_id: name,
        channel: inMessage.channel,
        response_url: url(),
        action_ts: '1',
        state: '',
        submission: { a: 'b' },
      }),
    ]),
    ...[...names.views, unknown].flatMap((name) => [
      interaction({
        type: 'view_submission',
        view: view(name),
        response_urls: [{ block_id: 'b', action_id: 'a', channel_id: 'C0GEN', response_url: url() }],
      }),
      interaction({ type: 'view_closed', view: view(name), is_cleared: false }),
    ]),
    ...names.options.flatMap((action_id) => [
      interaction({
        type: 'block_suggestion',
        action_id,
        block_id: 'b',
        value: 'ann',
        container: { type: 'view', view_id: 'V1' },
        view: view('v'),
      }),
      interaction({
        type: 'interactive_message',
        name: action_id,
        callback_id: action_id,
        value: 'ann',
        action_ts: '1',
        channel: inMessage.channel,
      }),
    ]),
  ]
}

/**
 * Delivers all payloads with `send`, which does not fail without an acknowledgement, and waits until
 * the app makes no further calls. Some payloads are never acknowledged. So it waits for
 * acknowledgements for as long as Slack does, and then for that of one more payload: payloads that
 * are not acknowledged by then never are.
 */
export async function deliverAll(
  send: Deliver,
  slack: SlackServer,
  deliveries: readonly Delivery[],
): Promise<void> {
  const sent: Promise<void>[] = []
  for (const [type, payload] of deliveries) {
    sent.push(send(type, payload))
    await noMoreCalls(slack, 5)
  }
  await Promise.race([Promise.all(sent), pause(ACK_LIMIT_MS)])
  await send('events_api', callback({ text: 'the last', ts: slack.nextTs() }))
  await noMoreCalls(slack, 100)
}

/**
 * Resolves when the number of calls was the same in more than `checks` checks, 5 ms apart. No event
 * announces that.
 */
async function noMoreCalls({ calls }: SlackServer, checks: number): Promise<void> {
  for (let unchanged = 0, before = -1; unchanged <= checks; ) {
    unchanged = calls.length === before ? unchanged + 1 : 0
    before = calls.length
    await pause(5)
  }
}

/**
 * How often to compare. Trivium waits for the acknowledgement of the app only for a limited time,
 * so on a busy machine it may acknowledge before the app does.
 */
const TRIES = 3

/**
 * Fails if Slack can see a difference between an app that Bolt runs alone and the same app behind
 * Trivium. Resolves with the observation of Bolt alone.
 */
export async function assertSame<T extends Observed>(
  observe: () => Promise<{ alone: T; hosted: T }>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const { alone, hosted } = await observe()
    const different = differences(alone, hosted)
    if (different.length === 0) return alone
    if (tries === TRIES) assert.deepEqual(different, [])
  }
}

type Observed = { acks: unknown[]; calls: object[] }

/**
 * Differences between two observations. The order of calls and their timestamps do not count, since
 * concurrent listeners have no order.
 */
export function differences(alone: Observed, hosted: Observed): string[] {
  const normalized = (value: unknown) =>
    JSON.stringify(value).replaceAll(/\b1700\d{6}\.\d{6}\b|\btrigger\.\d+/g, '#')
  const acks = alone.acks.flatMap((ack, index) => {
    const [byBolt, byTrivium] = [normalized(ack), normalized(hosted.acks[index])]
    return byBolt === byTrivium
      ? []
      : [`payload ${index} is acknowledged by ${byBolt} alone, and by ${byTrivium} behind Trivium`]
  })
  const without = (calls: string[], others: string[]) => {
    const rest = [...others]
    return calls.filter((call) => {
      const index = rest.indexOf(call)
      if (index >= 0) rest.splice(index, 1)
      return index < 0
    })
  }
  const [ofAlone, ofHosted] = [alone.calls.map(normalized), hosted.calls.map(normalized)]
  return [
    ...acks,
    ...without(ofAlone, ofHosted).map((call) => `only alone: ${call}`),
    ...without(ofHosted, ofAlone).map((call) => `only behind Trivium: ${call}`),
  ]
}
