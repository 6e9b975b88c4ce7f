import { z } from 'zod'
import { patternText } from '../../src/core/pattern.ts'
import { duration, size, timerDuration } from '../../src/core/units.ts'
import { publicPath, secrets } from '../options.ts'

// YAML 1.1 editors turn `off` into false, which means the same.
const off = z.enum(['off']).or(z.literal(false).transform((): 'off' => 'off'))
const said = z.string().min(1)
const prompt = z.strictObject({ title: said, message: said })

/** What the bot uses; `ops/slack-manifest.yaml` asks for all of them, and says what for. */
export const SCOPES = (
  'app_mentions:read channels:history channels:read chat:write commands files:read files:write groups:history ' +
  'groups:read im:history im:read im:write mpim:history mpim:read reactions:read reactions:write users:read'
).split(' ')

const scopes = z.array(z.string().min(1)).min(1)

const oauth = z.strictObject({
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
  scopes: scopes.default(SCOPES).describe('What the bot may do; by default what Trivium uses.'),
  userScopes: scopes.optional().describe('What it may do as who installs it.'),
  stateSecret: z
    .string()
    .min(16)
    .optional()
    .describe(
      'Signs what an installation begins with, and encrypts what is kept; else the client secret does.',
    ),
  path: publicPath
    .default('/slack')
    .describe('Where it is installed: at /install and /oauth_redirect below it.'),
  redirectUri: z.url().optional().describe('Which redirect URL, where the app has several.'),
})

const shared = {
  botToken: secrets
    .optional()
    .describe('The bot token (xoxb-…); a list where one app is installed in several workspaces.'),
  oauth: oauth.optional().describe('In place of botToken: workspaces install the app by themselves.'),
  apiUrl: z.url().default('https://slack.com/api/').describe("Slack's Web API; another one for tests."),
  threads: z
    .enum(['reply', 'channel'])
    .default('reply')
    .describe('reply: a message starts a thread, and that is its conversation. channel: the channel is.'),
  'direct-threads': z
    .enum(['reply', 'channel'])
    .optional()
    .describe('The same for direct messages; without it as `threads`.'),
  'allow-bots': z.boolean().default(false).describe('Whether what other bots write is taken in.'),
  commands: z
    .enum(['ephemeral', 'channel'])
    .default('ephemeral')
    .describe('Who sees the answer to a slash command: only who typed it, or the channel.'),
  progress: z
    .union([z.literal(['on', true]).transform((): 'on' => 'on'), off])
    .default('on')
    .describe('Reactions on a message that is being answered, or off.'),
  assistant: z
    .strictObject({ greeting: said.optional(), prompts: z.array(prompt).max(4).optional() })
    .optional()
    .describe('What is said where somebody begins to talk with the agent, and the prompts that it suggests.'),
  answers: z
    .record(patternText, z.string().min(1))
    .default({})
    .describe(
      'Skills that answer at once: the action_id of a select, or the callback_id of a modal, and the skill.',
    ),
  'user-groups': z
    .array(z.string().regex(/^S[A-Z0-9]{4,}$/, 'a user group has an id such as S0123ABCD'))
    .max(20)
    .default([])
    .describe('User groups that may be members of roles and approvers, as <gateway>:group:<id>.'),
  'max-file-size': size.default(20 * 1024 * 1024).describe('Larger files are named but not downloaded.'),
  'max-files': z.int().min(0).max(100).default(10).describe('How many files of one message are downloaded.'),
  'fill-gaps': z
    .union([off, duration])
    .default(3_600_000)
    .describe(
      'After a start, a lost connection or a refused message, how far back is read what was missed; or off.',
    ),
}

const socket = z.strictObject({
  mode: z.literal('socket'),
  appToken: z.string().min(1).describe('The app-level token (xapp-…) with connections:write.'),
  ping: timerDuration
    .refine((ms) => ms >= 50, 'a ping takes at least 50ms')
    .default(10_000)
    .describe('How often the socket is asked whether it lives; one that was silent for three is replaced.'),
  'max-silence': timerDuration
    .default(1_800_000)
    .describe('A socket that brought no event for this long is replaced, in case it has gone deaf.'),
  ...shared,
})

const http = z.strictObject({
  mode: z.literal('http'),
  signingSecret: secrets.describe("The app's signing secret; several while it is rotated."),
  path: publicPath
    .default('/slack/events')
    .describe('The request URL of events, interactivity and slash commands on the public listener.'),
  ...shared,
})

/** What a gateway with `transport: slack` takes in routes.yaml; `docs/slack.md` explains each. */
export const slackOptions = z
  .discriminatedUnion('mode', [socket, http])
  .refine(({ botToken, oauth }) => !botToken !== !oauth, {
    path: ['botToken'],
    error: 'give either `botToken`, or `oauth` where workspaces install the app by themselves',
  })
  .refine(({ oauth, 'user-groups': groups }) => !oauth || groups.length === 0, {
    path: ['user-groups'],
    error: 'user groups are those of the workspaces of `botToken`; with `oauth` there are none',
  })

export type SlackOptions = z.output<typeof slackOptions>
export type SocketOptions = z.output<typeof socket>
export type HttpOptions = z.output<typeof http>
export type OAuthOptions = z.output<typeof oauth>
