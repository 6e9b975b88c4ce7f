import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Sending } from './posts.ts'

/** How long the place of an opened modal is remembered. */
const PLACE_TTL_MS = 7 * DAY

/** The place in which a modal was opened. */
const placeSchema = z.object({ channel: z.string(), thread: z.string().exactOptional() })

/**
 * Opens modals (https://docs.slack.dev/surfaces/modals), and remembers their places, which Slack
 * does not report later.
 */
export function createModals({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>) {
  const nameOf = (view: string) => `slack/${gateway}/modal/${view}`

  return {
    /**
     * Opens a modal, after a click inside a modal on top of it. Throws `send_rejected` if there was
     * no click or command.
     */
    async open(view: ModalView, { workspace, target, sent }: Sending): Promise<void> {
      const { triggerId, inModal, channel, thread, responseUrl } = target
      if (triggerId === undefined) {
        const reason =
          'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
        throw new TriviumError('send_rejected', { gateway, reason })
      }
      const answer = await workspace.api.views[inModal ? 'push' : 'open']({ trigger_id: triggerId, view })
      sent.view = answer.view?.id ?? ''
      // An ephemeral interaction is not answered in the channel.
      if (responseUrl === undefined && !/^[UW]/.test(channel))
        await kv.set(nameOf(sent.view), defined({ channel, thread }), { ttl: PLACE_TTL_MS })
    },
    /**
     * The place in which the modal of a payload was opened. Undefined if the place is not known.
     */
    async placeOf(payload: JsonObject) {
      const view = textAt(payload, 'view.id')
      return placeSchema.safeParse(view && (await kv.get(nameOf(view)))?.value).data
    },
  }
}
