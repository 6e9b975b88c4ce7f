import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const WORKER_FIRST = /^(?:to\s+)?([\w.@-]+)\s*:\s*(\S.*)$/s

export default defineSkill({
  name: 'delegate',
  description: 'Gives work to a worker: "delegate to ada: check the invoices".',
  args: z.object({
    text: z.string().trim().describe('The work; in front of it, with a colon, who does it'),
    worker: z.string().min(1).exactOptional().describe('Who does it; default: whoever works as "worker"'),
  }),
  async run({ args, services, call }) {
    const [, named, rest] = (args.worker === undefined && WORKER_FIRST.exec(args.text)) || []
    const task = rest ?? args.text
    if (task === '') throw new TriviumError('usage', { details: 'Say what is to be done.' })
    const worker = args.worker ?? named ?? 'worker'
    const delegation = await services.assistant.delegate({ worker, task }, call)
    return { text: `Delegated ${delegation.id} to ${worker}.`, delegation }
  },
})
