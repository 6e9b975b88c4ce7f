import { z } from 'zod'
import { jsonObjectSchema } from './json.ts'

const id = z.string().min(1).max(500).exactOptional()

/** A message that an operator or a program puts through a gateway with the control token. `wait`: ms for the replies. */
export const submissionSchema = z.strictObject({
  gateway: z.string().min(1).describe('The gateway that it comes in by'),
  text: z.string().describe('What it says'),
  conversation: id.describe('What it belongs to; by default it stands alone'),
  from: id.describe('Who writes'),
  key: id.describe('The same key is accepted once on a gateway'),
  subject: z.string().exactOptional().describe('The subject'),
  data: jsonObjectSchema.exactOptional().describe('Fields of the transport, as routes match them'),
  wait: z.number().min(0).max(600_000).default(0).describe('Wait that many ms for the replies'),
})

export type Submission = z.infer<typeof submissionSchema>
