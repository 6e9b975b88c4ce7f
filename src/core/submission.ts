import { z } from 'zod'
import { jsonObjectSchema } from './json.ts'

const id = z.string().min(1).max(500).exactOptional()

/** A message that an operator or a program puts through a gateway with the control token. `wait`: ms for the replies. */
export const submissionSchema = z.strictObject({
  gateway: z.string().min(1),
  text: z.string(),
  conversation: id,
  from: id,
  key: id,
  subject: z.string().exactOptional(),
  data: jsonObjectSchema.exactOptional(),
  wait: z.number().min(0).max(600_000).default(0),
})

export type Submission = z.infer<typeof submissionSchema>
