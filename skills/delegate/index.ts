import { z } from 'zod'
import { answerSlips } from '../../src/core/assistant-services.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const WORKER_FIRST = /^(?:to\s+)?([\w.@-]+)\s*:\s*(\S.*)$/s

const HINT = 'Say what is to be done, and by whom: delegate to ada: check the invoices.'

export default defineSkill({
  name: 'delegate',
  description: 'Gives work to a worker: "delegate to ada: check the invoices".',
  args: z.object({
    text: z.string().trim().default('').describe('The work; in front of it, with a colon, who does it'),
    worker: z.string().min(1).exactOptional().describe('Who does it; default: whoever works as "worker"'),
  }),
  run: ({ args, services, call }) =>
    answerSlips(call, async () => {
      const [, named, rest] = (args.worker === undefined && WORKER_FIRST.exec(args.text)) || []
      const task = rest ?? args.text
      if (task === '') throw new TriviumError('usage', { details: HINT })
      const worker = args.worker ?? named ?? 'worker'
      const delegation = await services.assistant.delegate({ worker, task }, call)
      return { text: `Delegated ${delegation.id} to ${worker}.`, delegation }
    }),
})
