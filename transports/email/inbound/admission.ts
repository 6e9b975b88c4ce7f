import type { DNSResolver } from 'mailauth'
import { compilePattern } from '../../../src/core/pattern.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { EmailOptions } from '../options.ts'
import type { Identity } from '../proof/claim.ts'
import { createIdentityCheck } from '../proof/verify.ts'
import { type Incoming, type Ingested, placeOf } from './incoming.ts'

/** Resolves with how long a mail has been undecided (ms); 0 for a new one. */
export type WaitedTime = () => number | Promise<number>

/** Decides which mails are accepted, by `allowed-senders` and `authentication`. */
export function createAdmission(parts: {
  options: EmailOptions
  deps: TransportDeps
  resolver: DNSResolver
  /** How long (ms) to wait until it is decided whether the sender of a mail is verified. */
  decisionTimeout: number
}) {
  const { options, deps, decisionTimeout } = parts
  const { authentication, 'allowed-senders': globs } = options
  const senders = globs?.map(compilePattern)
  const isAllowed = (address: string) => !senders || senders.some((each) => each.test(address))
  const verify = createIdentityCheck(options, parts.resolver)

  const refuse = ({ mail }: Incoming, reason: string, identity?: Identity): Ingested => {
    const from = mail.from[0]?.address ?? ''
    const why = identity?.detail ?? 'allowed-senders does not name it'
    const report = () => {
      deps.refused(reason, { from, why, body: `${mail.subject ?? ''}\n${mail.text}` })
      const fields = { from, reason, mailId: mail.messageId, ...defined({ identity }) }
      deps.log.debug(fields, 'a mail was refused')
    }
    return { outcome: 'refused', report }
  }

  return {
    /** Whether `allowed-senders` includes an address, or is not set. */
    isAllowed,
    /** Whether an accepted mail is proven to be from someone in `allowed-senders`. */
    isProven: ({ result, unsigned }: Identity) => senders !== undefined && result === 'pass' && !unsigned,
    /**
     * Identifies the author of a mail, or returns why it is not accepted. `waited` is called if the
     * author cannot be verified yet.
     */
    async admit(incoming: Incoming, waited: WaitedTime): Promise<{ identity: Identity } | Ingested> {
      const { mail, raw } = incoming
      if (!isAllowed(mail.from[0]?.address ?? '')) return refuse(incoming, 'sender')
      const { identity, undecided } = incoming.verdict ?? (await verify(mail, raw))
      const undecidedFor = undecided ? await waited() : undefined
      // Logged once, at the first attempt.
      if (undecidedFor === 0)
        deps.log.warn({ ...placeOf(incoming), reason: identity.detail }, 'a mail was set aside')
      if (undecidedFor !== undefined && undecidedFor < decisionTimeout) return { outcome: 'undecided' }
      const isUnproven = authentication === 'require' && identity.result !== 'pass'
      // `prefer` refuses forged senders only with `allowed-senders`. Without it a forged name
      // grants nothing, so the mail is accepted, but never answered.
      const isForged = authentication === 'prefer' && senders && identity.result === 'fail'
      return isUnproven || isForged ? refuse(incoming, 'authentication', identity) : { identity }
    },
  }
}
