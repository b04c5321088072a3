// What a user is called, and the role.
import type { JSX } from 'preact';
import type { UserRole, UserRow } from '../../api/access.ts';
import { t } from '../../text/index.ts';
import { Tag } from '../../ui/badge.tsx';

export const nameOf = ({
  user_alias: alias,
  user_email: email,
  user_id: id,
}: Pick<UserRow, 'user_alias' | 'user_email' | 'user_id'>): string => alias ?? email ?? id;

export function RoleTag({ role }: { role: UserRole }): JSX.Element {
  return <Tag title={t().users.roleHints[role]}>{t().users.roles[role]}</Tag>;
}
