import { z } from 'zod'
import { MIB, rate, timerDuration } from '../../src/core/units.ts'
import type { Preset } from '../deliveries/preset.ts'
import { PRESETS } from '../deliveries/presets.ts'
import { verify } from '../deliveries/verify.ts'
import { bodySize, publicPath } from '../options.ts'
import { challengeOptions, isSigned } from './challenge-options.ts'
import { acceptedAnswer } from './http-answer.ts'

/**
 * A pointer into a delivery: `header.NAME`, `data.PATH`, or with `split` a path in each element.
 */
const pointer = z.string().regex(/^\S+$/, 'expected header.NAME or data.PATH, such as data.body.id')
const POINTER = /^(header\.[\w-]+|data\.\S+)$/
const COOKIE = /^cookie\.[^\s;=]+$/
/** A key that is the hash of the body; with `split`, the hash of the element. */
const BODY_HASH = '#'
const POINTER_OPTIONS = ['key', 'event', 'from', 'from-name', 'text', 'conversation'] as const
const formField = z.templateLiteral(
  ['form.', z.string().regex(/^[^\s.]{1,100}$/)],
  'expected auto, json, form, multipart, text, binary, or form.NAME',
)
const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'] as const

const options = z.strictObject({
  path: publicPath.describe('Path on the public listener that deliveries are posted to.'),
  verify: verify
    .default({ scheme: 'none' })
    .describe(
      'How the signature of a delivery is checked: a preset or a recipe. Without it, anyone can send.',
    ),
  challenge: challengeOptions
    .exactOptional()
    .describe('The requests with which a provider checks this address, and the answer to them.'),
  respond: z
    .enum(['accepted', 'result'])
    .default('accepted')
    .describe('accepted: 202 once the message is durable. result: 200 with the reply of the skill.'),
  answer: acceptedAnswer
    .exactOptional()
    .describe(
      'The response to an accepted delivery, for senders that expect a certain one: a text, or `{ status, headers, body }`. By default 202 and the id.',
    ),
  methods: z
    .array(z.enum(METHODS))
    .min(1)
    .default(['POST'])
    .describe('The HTTP methods with which messages are sent.'),
  origins: z
    .array(
      z
        .string()
        .regex(
          /^(\*|[a-z][a-z\d+.-]*:\/\/[^\s/?#]+)$/,
          'expected an origin such as https://shop.example.com, or *',
        ),
    )
    .default([])
    .describe('Web pages whose scripts may send and read the response: https://shop.example.com, or *.'),
  timeout: timerDuration.default(30_000).describe('How long `respond: result` waits for the reply.'),
  'rate-limit': rate.default('off').describe('Maximum rate of verified deliveries, such as 100/s.'),
  'max-body': bodySize.default(MIB).describe('Largest body, at most 25mb; larger ones are refused with 413.'),
  body: z
    .union([z.enum(['auto', 'json', 'ndjson', 'form', 'multipart', 'text', 'binary']), formField])
    .default('auto')
    .describe('How the body is read; auto: by its content type; form.NAME: the JSON in a field of a form.'),
  'keep-original': z
    .boolean()
    .default(false)
    .describe(
      'For development: keeps the request as it came, with its signatures, for `trivium listen --forward`. Not of deliveries that are split.',
    ),
  split: z
    .union([z.literal(false), z.string().regex(/^data\.body(\[\]|\.\S+)*$/)], {
      error: 'expected data.body or data.body.PATH, where the list is, or false',
    })
    .optional()
    .describe(
      'The list whose elements each become a message, such as data.body or data.body.entry.*.changes; false: none.',
    ),
  key: z
    .union([pointer, z.array(pointer).min(1)])
    .optional()
    .describe(
      'Path of the idempotency key, or several whose values are one key together; `"#"`: a hash of the body. By default found in the delivery.',
    ),
  event: pointer.optional().describe('Path of the name of the event; by default found in the delivery.'),
  from: pointer.optional().describe('Path of the id of the sender; by default found in the delivery.'),
  'from-name': pointer
    .optional()
    .describe('Path of the name of the sender, which lists show instead of the id.'),
  text: pointer.optional().describe('Path of the text; by default the text is the whole body.'),
  conversation: z
    .union([pointer, z.array(pointer).min(1)])
    .optional()
    .describe(
      'Where the id of the conversation is, or a list of such places (the first that has a value is used); cookie.NAME is allowed. By default from the provider, otherwise each delivery is a conversation of its own.',
    ),
})

/** Options of a webhook gateway in routes.yaml. */
export const webhookOptions = options.superRefine((values, context) => {
  const { split, verify, respond, challenge } = values
  const report = (key: string, message: string) =>
    context.addIssue({ code: 'custom', path: [key], message, input: values })
  const presets: Partial<Record<string, Preset>> = PRESETS
  const isSplitSet = typeof split === 'string'
  const isSplit = isSplitSet || (split !== false && presets[verify.scheme]?.split !== undefined)
  if (isSplitSet && respond === 'result') {
    report('split', '`split` makes several messages, and `respond: result` answers with the reply to one')
  }
  if (challenge && isSigned(challenge) && !('secret' in verify && verify.secret))
    report('challenge', '{hmac-hex} and {hmac-base64} need a `secret` in `verify`')
  // With `split`, a pointer may also be a path in an element, which can have any form.
  if (isSplit) return
  for (const key of POINTER_OPTIONS) {
    for (const text of [values[key] ?? []].flat()) {
      if (POINTER.test(text) || (key === 'conversation' && COOKIE.test(text))) continue
      if (key === 'key' && text === BODY_HASH) continue
      report(key, 'expected header.NAME or data.PATH, such as data.body.id')
    }
  }
})

export type WebhookOptions = z.output<typeof webhookOptions>
