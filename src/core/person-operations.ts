import { z } from 'zod'
import { closed, wait } from './arguments.ts'
import { partsOf } from './identity.ts'

const identity = z
  .string()
  .refine(
    (text) => partsOf(text).gateway !== '' && !/^\*+$/.test(partsOf(text).name),
    'expected <gateway>:<identity>, such as email:alice@example.com, slack:U024BE7LH or *:alice@example.com',
  )

const identities = z
  .union([identity, z.array(identity).min(1).max(100)])
  .transform((given) => [given].flat())
  .describe('Who, as routes.yaml names people: email:alice@example.com; several of one person as a list')

/** What is kept about one person, for operators alone: `person-…`. They throw `forbidden`. */
export const people = {
  export: closed({
    identity: identities,
    attachments: z.boolean().default(true).describe('With the files that they sent, in base64'),
  }).describe('Writes all that is kept about one person into a file, one JSON object a line.'),
  erase: closed({
    identity: identities,
    confirm: z
      .boolean()
      .default(false)
      .describe('Erase it; without this only what would be erased is counted'),
    wait: wait.default(0).describe('Wait that many ms for the end'),
  }).describe('Counts what is kept about one person, by place; with confirm erases it, as a job.'),
}
