import { CHATS } from './chats.ts'
import { CUSTOMERS } from './customers.ts'
import type { ProviderExample } from './example.ts'
import { FILES } from './files.ts'
import { INFRASTRUCTURE } from './infrastructure.ts'
import { PAYMENTS } from './payments.ts'
import { PROJECTS } from './projects.ts'

/** All providers, by name. */
export const PROVIDER_EXAMPLES: readonly ProviderExample[] = [
  ...CHATS,
  ...CUSTOMERS,
  ...FILES,
  ...INFRASTRUCTURE,
  ...PAYMENTS,
  ...PROJECTS,
].sort((one, two) => (one.name.toLowerCase() < two.name.toLowerCase() ? -1 : 1))
