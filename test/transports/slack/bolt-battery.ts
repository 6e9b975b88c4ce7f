import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '../../../src/core/json.ts'
import type { SlackServer } from '../../fixtures/slack-server.ts'
import { type Deliver, trigger, who } from './bolt-harness.ts'
import { callback, typed } from './harness.ts'

/** What an app listens to by name, and what people say to it. */
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

/** How long Slack waits for an acknowledgement. */
const LIMIT_MS = 3_000

type Sent = [type: 'events_api' | 'interactive' | 'slash_commands', payload: JsonObject]

/** One payload of each kind that Slack sends, for each name that the app knows and for one that it does not. */
export function battery(slack: SlackServer, names: Names): Sent[] {
  const person = (payload: JsonObject): Sent => [
    'interactive',
    { ...who, trigger_id: trigger(), api_app_id: 'A0APP', ...payload },
  ]
  const ts = slack.nextTs
  const event = (fields: JsonObject): Sent => {
    const payload = callback(fields)
    const isPost = fields.type === undefined || fields.type === 'app_mention'
    // What is of messages is in no other event.
    return ['events_api', isPost ? payload : { ...payload, event: { event_ts: ts(), ...fields } }]
  }
  const unknown = 'nobody_listens'
  const url = () => slack.apiUrl.replace('/api/', `/respond/${trigger()}`)
  const values = { sample_block_id: { sample_input_id: { type: 'plain_text_input', value: 'text' } } }
  const view = (callback_id: string): JsonObject => ({
    ...{
      id: 'V1',
      hash: 'h',
      type: 'modal',
      callback_id,
      private_metadata: '{"channel":"C0GEN"}',
      team_id: 'T0TEAM',
    },
    ...{
      state: { values },
      app_id: 'A0APP',
      bot_id: 'B0BOT',
      blocks: [],
      title: { type: 'plain_text', text: 'T' },
    },
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
  const on = {
    ...{ container: { type: 'message', message_ts: '1.1', channel_id: 'C0GEN', is_ephemeral: false } },
    ...{
      channel: { id: 'C0GEN', name: 'general' },
      message: { type: 'message', user: 'U0BOT', ts: '1.1', text: 'hi' },
    },
  }
  const run = (callback_id: string): JsonObject => ({
    ...{
      type: 'function_executed',
      function: { id: 'Fn1', callback_id },
      function_execution_id: 'Fx1',
      workflow_execution_id: 'Wx1',
    },
    ...{
      bot_access_token: 'xwfp-test',
      inputs: {
        user_id: 'U1ANN',
        user_context: { id: 'U1ANN' },
        query: 'a',
        manager: 'U2BOB',
        employee: 'U1ANN',
      },
    },
  })
  const ofFunction = {
    function_data: { execution_id: 'Fx1', function: { callback_id: 'f' }, inputs: { user_id: 'U1ANN' } },
    bot_access_token: 'xwfp-test',
  }
  const said = [...names.texts, 'hi', 'hello', 'what else', 'knock knock', 'who is there', ':wave:']
  const thread = ts()
  const assistant = {
    user_id: 'U1ANN',
    context: { channel_id: 'C0GEN', team_id: 'T0TEAM' },
    channel_id: 'D1ANN',
    thread_ts: thread,
  }
  return [
    ...said.map((text) => event({ text, ts: ts() })),
    ...said.slice(0, 2).map((text) => event({ text, ts: ts(), thread_ts: '1.1' })),
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
    ...[...names.commands, '/nobody-listens'].flatMap((command): Sent[] =>
      ['', 'with text'].map((text) => ['slash_commands', typed(slack, { command, text })]),
    ),
    ...[...names.shortcuts, unknown].flatMap((callback_id) => [
      person({ type: 'shortcut', callback_id, action_ts: '1' }),
      person({
        type: 'message_action',
        callback_id,
        action_ts: '1',
        ...on,
        response_url: url(),
        message_ts: '1.1',
      }),
    ]),
    ...[...names.actions, unknown].flatMap((name) => [
      ...elements.map((fields) =>
        person({
          type: 'block_actions',
          ...on,
          response_url: url(),
          actions: [element(name, fields)],
          state: { values },
        }),
      ),
      person({
        type: 'block_actions',
        view: view('sample_view_id'),
        container: { type: 'view', view_id: 'V1' },
        actions: [element(name, elements[0] ?? {})],
      }),
      person({ type: 'block_actions', ...on, ...ofFunction, actions: [element(name, elements[0] ?? {})] }),
      person({
        type: 'interactive_message',
        callback_id: name,
        channel: on.channel,
        response_url: url(),
        action_ts: '1',
        actions: [{ name, type: 'button', value: 'v' }],
      }),
      person({
        type: 'dialog_submission',
        callback_id: name,
        channel: on.channel,
        response_url: url(),
        action_ts: '1',
        state: '',
        submission: { a: 'b' },
      }),
    ]),
    ...[...names.views, unknown].flatMap((name) => [
      person({
        type: 'view_submission',
        view: view(name),
        response_urls: [{ block_id: 'b', action_id: 'a', channel_id: 'C0GEN', response_url: url() }],
      }),
      person({ type: 'view_closed', view: view(name), is_cleared: false }),
    ]),
    ...names.options.flatMap((action_id) => [
      person({
        type: 'block_suggestion',
        action_id,
        block_id: 'b',
        value: 'ann',
        container: { type: 'view', view_id: 'V1' },
        view: view('v'),
      }),
      person({
        type: 'interactive_message',
        name: action_id,
        callback_id: action_id,
        value: 'ann',
        action_ts: '1',
        channel: on.channel,
      }),
    ]),
  ]
}

/**
 * Delivers all of these, and waits until the app calls nothing more. An app acknowledges at once or never: what it has not acknowledged
 * within Slack's limit, and before a payload that is sent after that, it does not acknowledge, however busy the machine is.
 */
export async function deliverAll(attempt: Deliver, slack: SlackServer, sent: readonly Sent[]): Promise<void> {
  const attempts: Promise<void>[] = []
  for (const [type, payload] of sent) {
    attempts.push(attempt(type, payload))
    await calm(slack, 5)
  }
  await Promise.race([Promise.all(attempts), pause(LIMIT_MS)])
  await attempt('events_api', callback({ text: 'the last', ts: slack.nextTs() }))
  await calm(slack, 100)
}

async function calm({ calls }: SlackServer, enough: number): Promise<void> {
  for (let looks = 0, before = -1; looks <= enough; ) {
    looks = calls.length === before ? looks + 1 : 0
    before = calls.length
    await pause(5)
  }
}

/** Tries of a machine that is so busy that an app takes longer than Trivium holds back an acknowledgement. */
const TRIES = 3

/** Fails unless Slack sees the same of an app by Bolt alone and behind Trivium. Resolves with what it saw of Bolt alone. */
export async function assertSame<T extends Seen>(
  observe: () => Promise<{ alone: T; hosted: T }>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const { alone, hosted } = await observe()
    const found = differences(alone, hosted)
    if (found.length === 0) return alone
    if (attempt === TRIES) assert.deepEqual(found, [])
  }
}

type Seen = { said: unknown[]; calls: object[] }

/**
 * What Slack saw of one run and not of the other. Listeners that run at the same time have no order among them, and timestamps
 * follow from theirs.
 */
export function differences(alone: Seen, hosted: Seen): string[] {
  const plain = (one: unknown) => JSON.stringify(one).replaceAll(/\b1700\d{6}\.\d{6}\b|\btrigger\.\d+/g, '#')
  const acks = alone.said.flatMap((said, at) => {
    const [one, other] = [plain(said), plain(hosted.said[at])]
    return one === other
      ? []
      : [`payload ${at} is acknowledged by ${one} alone, and by ${other} behind Trivium`]
  })
  const without = (calls: string[], others: string[]) => {
    const rest = [...others]
    return calls.filter((call) => {
      const at = rest.indexOf(call)
      if (at >= 0) rest.splice(at, 1)
      return at < 0
    })
  }
  const [ofAlone, ofHosted] = [alone.calls.map(plain), hosted.calls.map(plain)]
  return [
    ...acks,
    ...without(ofAlone, ofHosted).map((call) => `only alone: ${call}`),
    ...without(ofHosted, ofAlone).map((call) => `only behind Trivium: ${call}`),
  ]
}
