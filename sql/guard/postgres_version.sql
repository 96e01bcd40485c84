    IF TG_OP = 'INSERT' THEN
        NEW.holdfast := NULL;
        RETURN NEW;
    ELSIF TG_OP = 'UPDATE' AND {same_key} THEN
        IF {ns}.guard_is_mine(OLD.xmin) THEN
            -- After a mark for deletion that is a change like the first one.
            NEW.{version} := greatest(NEW.{version}, OLD.{version} + (coalesce(OLD.holdfast, 0) < 0)::integer);
            RETURN NEW;
        ELSIF NEW.holdfast = -OLD.{version} THEN
            was := OLD;
            came := NEW;
            was.holdfast := NEW.holdfast;
            {forget_generated}IF was *= came THEN
                RETURN NEW;
            END IF;
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF {ns}.guard_is_mine(OLD.xmin) THEN
            RETURN OLD;
        END IF;
        PERFORM {ns}.guard_refuse({name}, 'delete', '23H02',
            format('%s is guarded; the statement does not say which version was read.', {type} || '/' || {id_old}),
            format('In one transaction: UPDATE %s SET holdfast = -%s and nothing else, if that is the version that was read; then DELETE.',
                {name}, OLD.{version}));
        RETURN OLD;
    END IF;
    IF NOT ({same_key}) THEN
        PERFORM {ns}.guard_refuse({name}, 'update', '23H02',
            format('The key of %s is guarded and stays as it is.', {type} || '/' || {id_old}),
            'Insert a new row and delete this one.');
    ELSIF NEW.holdfast >= 0 AND NEW.holdfast = OLD.holdfast THEN -- it was carried again, or it stood there
        PERFORM {ns}.guard_refuse({name}, 'update', '23H02',
            format('%s was changed since it was read, or the statement does not say which version was read; it is now version %s.',
                {type} || '/' || {id_old}, OLD.{version}),
            'Roll back. Load it anew, and SET holdfast to the version that it has then.');
    ELSIF NEW.holdfast >= 0 THEN
        PERFORM {ns}.guard_refuse({name}, 'update', '23H02',
            format('%s was changed since it was read (you read version %s, it is now %s).',
                {type} || '/' || {id_old}, NEW.holdfast, OLD.{version}),
            'Roll back. Load it anew, and save with the version that it has then.');
    ELSE
        PERFORM {ns}.guard_refuse({name}, 'update', '23H02',
            format('%s is guarded; the statement does not say which version was read.', {type} || '/' || {id_old}),
            format('UPDATE %s SET ..., holdfast = VERSION WHERE ..., with the version that was read.', {name}));
    END IF;
    NEW.holdfast := NULL;
    RETURN NEW;
