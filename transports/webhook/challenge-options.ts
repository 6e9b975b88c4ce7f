import { z } from 'zod'

const place = z
  .string()
  .regex(
    /^(query\.\S+|header\.[\w-]+|data\.body\.\S+)$/,
    'expected query.NAME, header.NAME or data.body.PATH',
  )

/** `challenge:` of a webhook gateway. */
export const challengeOptions = z.strictObject({
  at: place.describe('Where the value is that the provider wants back.'),
  when: z
    .record(place, z.string().describe('The value that must be in this place.'))
    .exactOptional()
    .describe('Other values that a challenge must have, such as the token that you entered at the provider.'),
  answer: z
    .union([
      z.string(),
      z.record(z.string(), z.string().describe('The text of this field of the JSON object.')),
    ])
    .default('{value}')
    .describe('A text, or the texts of a JSON object, with {value}, {hmac-hex} and {hmac-base64}.'),
  header: z
    .string()
    .regex(/^[\w-]+$/, 'expected the name of a header')
    .exactOptional()
    .describe('A header of the response that gets the value too.'),
})

export type ChallengeOptions = z.output<typeof challengeOptions>

/** Whether an answer is signed with the secret of the gateway. */
export function isSigned({ answer }: Pick<ChallengeOptions, 'answer'>): boolean {
  return /\{hmac-(?:hex|base64)\}/.test(JSON.stringify(answer))
}
