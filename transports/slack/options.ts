import { z } from 'zod'
import { patternText } from '../../src/core/pattern.ts'
import { duration, HOUR, MIB, MINUTE, size, timerDuration } from '../../src/core/units.ts'
import { publicPath, secrets } from '../options.ts'

// YAML 1.1 reads `off` as false.
const off = z.enum(['off']).or(z.literal(false).transform((): 'off' => 'off'))
const text = z.string().min(1)
const prompt = z.strictObject({
  title: text.describe('Label of the prompt.'),
  message: text.describe('The message that it sends.'),
})

/** The bot's scopes; `ops/slack-manifest.yaml` requests and explains them. */
export const SCOPES = (
  'app_mentions:read channels:history channels:read chat:write commands files:read files:write groups:history ' +
  'groups:read im:history im:read im:write mpim:history mpim:read reactions:read reactions:write users:read'
).split(' ')

const scopes = z.array(z.string().min(1)).min(1)

const oauth = z.strictObject({
  'client-id': z.string().min(1).describe('Client ID of the app.'),
  'client-secret': z.string().min(1).describe('Client secret of the app.'),
  scopes: scopes.default(SCOPES).describe('Scopes of the bot; by default those that Trivium uses.'),
  'user-scopes': scopes.optional().describe('Scopes for the person who installs the app.'),
  'state-secret': z
    .string()
    .min(16)
    .optional()
    .describe(
      'Signs the state of an installation and encrypts stored tokens; by default the client secret does.',
    ),
  path: publicPath
    .default('/slack')
    .describe('Base path of the installation: /install and /oauth_redirect below it.'),
  'redirect-uri': z.url().optional().describe('The redirect URL, if the app has several.'),
})

const shared = {
  'bot-token': secrets
    .optional()
    .describe('The bot token (xoxb-…), or a list if the app is installed in several workspaces.'),
  oauth: oauth.optional().describe('Instead of `bot-token`: workspaces install the app themselves.'),
  'api-url': z
    .url()
    .default('https://slack.com/api/')
    .describe("Address of Slack's Web API; another one for tests."),
  threads: z
    .enum(['reply', 'channel'])
    .default('reply')
    .describe('What a conversation is. reply: a thread; each post starts one. channel: the whole channel.'),
  'direct-threads': z
    .enum(['reply', 'channel'])
    .optional()
    .describe('The same for direct messages; defaults to `threads`.'),
  'allow-bots': z.boolean().default(false).describe('Whether messages of other bots are accepted.'),
  commands: z
    .enum(['ephemeral', 'channel'])
    .default('ephemeral')
    .describe('Who sees the answer to a slash command: only the person who typed it, or the channel.'),
  progress: z
    .union([z.literal(['on', true]).transform((): 'on' => 'on'), off])
    .default('on')
    .describe('on: a status, and reactions on a message that is being answered. off: neither. Default: on.'),
  assistant: z
    .strictObject({
      greeting: text.optional().describe('First message of the agent.'),
      prompts: z.array(prompt).max(4).optional().describe('Suggested prompts.'),
    })
    .optional()
    .describe('Greeting and suggested prompts when a person opens the agent.'),
  answers: z
    .record(patternText, z.string().min(1).describe('The skill that answers.'))
    .default({})
    .describe(
      'Skills that answer within the request: from the action_id of a select menu, or the callback_id of a modal, to the skill.',
    ),
  handover: z
    .union(
      [
        z.literal('button').transform(() => ({ by: ['role:operator'], drop: false })),
        z.strictObject({
          by: z
            .array(z.string().min(1))
            .min(1)
            .default(['role:operator'])
            .describe('Who may take over and hand back: members as in access roles.'),
          for: timerDuration.exactOptional().describe('The pause ends automatically after this time.'),
          drop: z
            .boolean()
            .default(false)
            .describe('Record messages as handled by a person instead of letting them wait.'),
        }),
      ],
      { error: 'expected button, or { by: [role:support], for: 4h }' },
    )
    .exactOptional()
    .describe(
      'Answers have a button "Take over", with which a person pauses the conversation. `button`: with the defaults.',
    ),
  'user-groups': z
    .array(z.string().regex(/^S[A-Z0-9]{4,}$/, 'a user group has an id such as S0123ABCD'))
    .max(20)
    .default([])
    .describe('User groups that may be members of roles and approvers, as <gateway>:group:<id>.'),
  'max-file-size': size.default(20 * MIB).describe('Larger files are named but not downloaded.'),
  'max-files': z.int().min(0).max(100).default(10).describe('How many files of one message are downloaded.'),
  'fill-gaps': z
    .union([off, duration])
    .default(HOUR)
    .describe(
      'How far back missed messages are read after a start, a lost connection or a refused message: at most 5 days, or off. Default: 1h.',
    ),
}

const socket = z.strictObject({
  mode: z
    .literal('socket')
    .describe('socket: Socket Mode, without a public address. http: events are POSTed to `path`.'),
  'app-token': z.string().min(1).describe('The app-level token (xapp-…) with connections:write.'),
  ping: timerDuration
    .refine((ms) => ms >= 50, 'expected at least 50ms')
    .default(10_000)
    .describe('Interval of pings; a socket that misses three is replaced.'),
  'max-silence': timerDuration
    .default(30 * MINUTE)
    .describe('A socket without an event for this long is replaced.'),
  ...shared,
})

const http = z.strictObject({
  mode: z
    .literal('http')
    .describe('socket: Socket Mode, without a public address. http: events are POSTed to `path`.'),
  'signing-secret': secrets.describe("The app's signing secret; a list while it is rotated."),
  path: publicPath
    .default('/slack/events')
    .describe('The request URL of events, interactivity and slash commands on the public listener.'),
  ...shared,
})

/** Options of a gateway with `transport: slack`; see `docs/slack.md`. */
export const slackOptions = z
  .discriminatedUnion('mode', [socket, http])
  .refine(({ 'bot-token': tokens, oauth }) => !tokens !== !oauth, {
    path: ['bot-token'],
    error: 'give either `bot-token`, or `oauth` where workspaces install the app by themselves',
  })
  .refine(({ oauth, 'user-groups': groups }) => !oauth || groups.length === 0, {
    path: ['user-groups'],
    error: 'user groups are those of the workspaces of `bot-token`; with `oauth` there are none',
  })

/** Spellings until 0.2, by path. They still work, with a warning. */
export const formerSlackKeys = {
  botToken: 'bot-token',
  appToken: 'app-token',
  signingSecret: 'signing-secret',
  apiUrl: 'api-url',
  'oauth.clientId': 'client-id',
  'oauth.clientSecret': 'client-secret',
  'oauth.userScopes': 'user-scopes',
  'oauth.stateSecret': 'state-secret',
  'oauth.redirectUri': 'redirect-uri',
}

export type SlackOptions = z.output<typeof slackOptions>
export type SocketOptions = z.output<typeof socket>
export type HttpOptions = z.output<typeof http>
export type OAuthOptions = z.output<typeof oauth>
