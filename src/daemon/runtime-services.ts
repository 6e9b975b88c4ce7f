import { TriviumError } from '../core/errors.ts'
import type { Services } from '../core/services.ts'

export function createRuntimeServices(_: unknown): Pick<Services, 'state' | 'callbacks' | 'approvals'> {
  const no = () => Promise.reject(new TriviumError('internal', { reason: 'not wired yet' }))
  const one = {
    get: no,
    set: no,
    delete: no,
    list: no,
    wait: no,
    create: no,
    respond: no,
    release: no,
    invoke: no,
    has: async () => false,
    request: no,
    decide: no,
  }
  return { state: one, callbacks: one, approvals: one }
}
