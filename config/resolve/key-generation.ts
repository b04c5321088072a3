// What new keys and users get, and who may make keys -> KeyGenerationSettings. Pure.
import type { GatewayFile } from '../gateway-file.ts';
import type { KeyGenerationSettings } from '../key-generation-settings.ts';

export function keyGenerationOf({
  general_settings: general,
  litellm_settings: litellm,
}: GatewayFile): KeyGenerationSettings {
  const { team_key_generation: team, personal_key_generation: personal } =
    litellm.key_generation_settings ?? {};
  const { max_internal_user_budget: budget, internal_user_budget_duration: duration } = litellm;
  return {
    defaults: litellm.default_key_generate_params ?? {},
    bounds: litellm.upperbound_key_generate_params ?? {},
    customKeys: !general.disable_custom_api_keys,
    team:
      team === undefined
        ? null
        : { roles: team.allowed_team_member_roles ?? null, required: team.required_params ?? [] },
    personal:
      personal === undefined
        ? null
        : { roles: personal.allowed_user_roles ?? null, required: personal.required_params ?? [] },
    users: {
      ...(budget === undefined ? {} : { max_budget: budget }),
      ...(duration === undefined ? {} : { budget_duration: duration }),
      ...litellm.default_internal_user_params,
    },
  };
}
