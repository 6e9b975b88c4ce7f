import { z } from 'zod'
import { rate, size, timerDuration } from '../../src/core/units.ts'
import { bodySize, publicPath, secrets } from '../options.ts'
import { jwtOptions } from './jwt.ts'

const MIB = 1024 * 1024

const options = z.strictObject({
  path: publicPath.describe('Path on the public listener that clients connect to.'),
  tokens: z
    .union([
      z.array(z.string().min(1)).min(1),
      z.record(
        z.string().regex(/^[\w.@-]{1,64}$/),
        secrets.describe('The token of this client; a list during a rotation.'),
      ),
    ])
    .optional()
    .describe('Who may connect: a list of tokens, or a map from a name to its token. Without it, everyone.'),
  jwt: jwtOptions.optional().describe('Accept JWTs of an identity provider instead of `tokens`.'),
  origins: z
    .array(z.string().min(1))
    .default([])
    .describe('Web pages that may connect, besides those of the same host: https://app.example.com, or *.'),
  heartbeat: timerDuration
    .refine((ms) => ms >= 100, 'a heartbeat takes at least 100ms')
    .default(30_000)
    .describe('Interval of pings; a client that misses two is disconnected.'),
  'max-frame': bodySize.default(MIB).describe('Largest frame of a client, at most 25mb.'),
  'max-buffer': size
    .default(MIB)
    .describe('Maximum of data in memory for a slow client; further replies wait in the store.'),
  'stall-timeout': timerDuration
    .default(30_000)
    .describe('How long a client may stay slow before it is disconnected with close code 1013.'),
  'rate-limit': rate.default('off').describe('Maximum rate of frames of a connection, such as 20/s.'),
  'max-connections': z.int().min(1).default(5_000).describe('Maximum number of simultaneous connections.'),
})

/** Options of a WebSocket gateway in routes.yaml. */
export const websocketOptions = options.refine(
  ({ tokens, jwt }) => tokens === undefined || jwt === undefined,
  {
    error: 'expected tokens or jwt: with both, two clients could have the same name',
    path: ['jwt'],
  },
)

export type WebsocketOptions = z.output<typeof websocketOptions>
